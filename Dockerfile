# syntax=docker/dockerfile:1
# The gateway and nothing else: no shell, no libraries, not root.
#
#   docker build --build-arg VERSION=$(git describe --tags --always) -t callgate .
#   docker buildx build --platform linux/amd64,linux/arm64 -t registry.example/callgate:1.0 --push .
#
# "make image" makes the same without Docker; deploy/image holds both to one content.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETARCH
ARG VERSION=dev
RUN make wasm && make VERSION=$VERSION bin/linux-$TARGETARCH/callgate
RUN mkdir -p /data /root-fs/etc/callgate /root-fs/etc/ssl/certs /root-fs/tmp && chmod 1777 /root-fs/tmp \
 && echo 'callgate:x:65532:65532:callgate:/tmp:/sbin/nologin' > /root-fs/etc/passwd \
 && echo 'callgate:x:65532:' > /root-fs/etc/group \
 && cp /etc/ssl/certs/ca-certificates.crt /root-fs/etc/ssl/certs/ \
 && cp LICENSE /root-fs/ && cp bin/linux-$TARGETARCH/callgate /root-fs/callgate

FROM scratch
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="callgate" \
      org.opencontainers.image.description="An OpenAI-compatible gateway that makes tool calling reliable on every model." \
      org.opencontainers.image.source="https://github.com/callgate/callgate" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /root-fs/ /
COPY --from=build --chown=65532:65532 --chmod=700 /data /var/lib/callgate
WORKDIR /tmp
ENV PATH=/ XDG_CACHE_HOME=/tmp/cache
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/callgate", "ready"]
ENTRYPOINT ["/callgate"]
CMD ["serve", "-c", "/etc/callgate/callgate.yaml"]
