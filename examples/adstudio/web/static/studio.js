// The page works without this. With it answers are shown as they are written.
"use strict";
document.documentElement.classList.add("script");

document.addEventListener("click", (event) => {
	const say = event.target.closest("[data-say]");
	if (!say) return;
	const field = document.getElementById("message");
	field.value = say.dataset.say;
	field.focus();
});

document.addEventListener("submit", async (event) => {
	const form = event.target.closest("[data-stream]");
	if (!form) return;
	event.preventDefault();
	const data = Object.fromEntries(new FormData(form));
	const button = form.querySelector("button");
	button.disabled = true;
	try {
		await follow(form, data);
	} catch (error) {
		problem("The studio cannot be reached: " + error.message);
	}
	const again = document.querySelector("form[data-stream] button");
	if (again) again.disabled = false;
});

// follow sends a form's data, and shows the answer while it comes.
async function follow(form, data) {
	const live = document.querySelector(".live");
	const bubble = element("div", "assistant waiting");
	const text = element("p"), made = element("p", "made");
	bubble.append(text, made);
	live.replaceChildren(element("p", "user", data.message ?? data.brief), bubble);
	live.className = "live turn";
	live.hidden = false;
	const response = await fetch(form.dataset.stream, {
		method: "POST",
		headers: {"Content-Type": "application/json", "Accept": "text/event-stream"},
		body: JSON.stringify(data),
	});
	let id = location.pathname.split("/")[2], failed = "";
	for await (const [name, value] of events(response)) {
		switch (name) {
		case "ad": id = value.id; break;
		case "text": text.append(value.delta); break;
		case "draft": made.append(element("span", "tag", `${value.kind} ${value.version}: ${value.title}`)); break;
		case "error": failed = [value.message, value.hint].filter(Boolean).join(" "); break;
		}
	}
	if (failed) {
		live.hidden = true;
		problem(failed);
	} else if (location.pathname.startsWith("/ads/")) {
		await refresh();
	} else {
		location.assign("/ads/" + id);
	}
}

// events reads server-sent events; an answer that is none is one event, its error.
async function* events(response) {
	if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
		const body = await response.json().catch(() => ({}));
		yield ["error", body.error ?? {message: "The studio answered " + response.status + "."}];
		return;
	}
	let rest = "";
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	for (;;) {
		const {done, value} = await reader.read();
		if (done) return;
		const blocks = (rest + value).split("\n\n");
		rest = blocks.pop();
		for (const block of blocks) {
			const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/s) ?? [];
			if (name) yield [name, JSON.parse(data)];
		}
	}
}

// refresh puts the page as it is now in the place of what is shown.
async function refresh() {
	const page = await (await fetch(location.pathname)).text();
	const fresh = new DOMParser().parseFromString(page, "text/html");
	document.title = fresh.title;
	document.querySelector("main").replaceWith(fresh.querySelector("main"));
	const field = document.getElementById("message");
	field.focus({preventScroll: true});
	field.closest("form").scrollIntoView({block: "nearest"});
}

function problem(text) {
	document.querySelectorAll(".problem[role=alert]").forEach((p) => p.remove());
	const p = element("p", "problem", text);
	p.setAttribute("role", "alert");
	document.querySelector("form[data-stream]").before(p);
}

function element(name, className, text) {
	const e = document.createElement(name);
	if (className) e.className = className;
	if (text) e.textContent = text;
	return e;
}
