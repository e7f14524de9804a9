package toolresult

import (
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// maxProse is the length in bytes of the longest sentence that is read for a refusal.
const maxProse = 240

// refusals are parts of sentences in which a tool says that it has not done what it was called
// for, and notRefused what its sentence begins with or holds if it has.
var (
	refusals = lines(`
could not
couldn't
cannot
can't
can not
can only
unable to
not able to
was not
were not
has not
have not
wasn't
is not
isn't
are not
aren't
does not
doesn't
do not
did not
didn't
won't
will not
not found
not allowed
not permitted
not possible
not eligible
not authori
not enough
no such
no longer
nothing was
must be
must have
must not
requires
already been
already taken
already booked
already cancel
already exist
already in use
is already
are already
insufficient
declined
expired
fully booked
out of stock
sold out
unavailable
exceed
too large
too many
too late
too long
rejected
refused
blocked by
missing
invalid
unknown
failed
limit reached
not valid
impossib
nicht
kein
unmöglich
bereits
n'a pas
n'est pas
ne peut
introuvable
déjà
no se pud
no se pued
no existe
no es posible
no está
ya está
no hay
insuficiente
não foi
não é
não pode
não existe
já está
já foi
non è
non può
non esiste
già
niet
geen
al bezet
nie można
nie uda
nie istnieje
nie znalez
brak
невозможно
не удал
не найден
нельзя
недостаточно
не может
неможливо
не вдалос
не знайден
yapılamad
bulunamad
olmadı
edilemed
yetersiz
できません
できない
見つかりません
ありません
無効
不能
无法
無法
不存在
不足
没有
失败
할 수 없
없습니다
못했
실패
لا يمكن
تعذر
غير موجود
لم يتم
नहीं
असफल
ไม่สามารถ
ไม่พบ
ไม่มี
tidak dapat
tidak bisa
tidak ditemukan
gagal
không thể
không tìm
không tồn tại
nelze
nepodařilo
není
neexistuje
nu se poate
nu a fost
nu există
nu este
aborted
fehlgeschlagen
abgelehnt
verweigert
gescheitert
mislukt
geweigerd
afgewezen
échoué
refusé
rejeté
falló
fallid
rechazad
denegad
falhou
recusad
rejeitad
negad
fallit
rifiutat
respint
odrzucon
odmówion
niepowodzen
отклон
отказано
ошибк
сбой
відхилен
помилк
başarısız
reddedil
ditolak
từ chối
thất bại
odmítnut
zamítnut
selhal
respins
refuzat
eșuat
拒否
拒绝
거부
거절
ล้มเหลว
ปฏิเสธ
رفض
فشل`)
	// done are what a sentence says that something was done by, whatever else was not: "has been saved", but not
	// "has already been cancelled".
	done = lines(`
no error
without error
no issue
no problem
successfully
was saved
were saved
has been
have been
mit erfolg
erfolgreich
con éxito
avec succès
com sucesso
con successo
met succes
pomyślnie
успешно
успішно
başarıyla
成功
完了
성공`)
	doneStarts = lines(`
ok
done
success
sent
saved
created
updated
deleted
removed
added
booked
cancelled
canceled
completed
scheduled
moved
renamed
written
wrote
erledigt
gesendet
gespeichert`)
)

// refuses reports whether the first sentence of a result in prose says that nothing was done.
func refuses(result []byte) bool {
	text := strings.TrimSpace(string(result))
	if text == "" || text[0] == '{' || text[0] == '[' {
		return false
	}
	text = strings.ToLower(strings.Trim(plaintext.Head(text, 4*maxProse), `"'`))
	if at := sentenceEnd(text); at >= 0 {
		text = text[:at]
	}
	return len(text) <= maxProse && !beginsWithOne(text, doneStarts) && containsOne(text, refusals) && !containsOne(text, done)
}

// sentenceEnd is where the first sentence of a text ends, or -1.
func sentenceEnd(text string) int {
	for _, end := range []string{". ", "\n", "。", "! "} {
		if at := strings.Index(text, end); at > 0 {
			return at
		}
	}
	return -1
}
