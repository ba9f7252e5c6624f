/** Addresses in settings: where a service listens, where others are, and what counts as this machine. */
import { Schema } from "effect"
import { isIP } from "node:net"

/** Whether a host, of a setting or of a URL, is this machine. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."))

/** An address to listen on. */
export const ListenHost = Schema.String.check(
  Schema.makeFilter((host) => host === "localhost" || isIP(host) !== 0 || "Expected an address")
)

/** An origin without a path, because a path would be ignored. */
export const Origin = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    return (url?.origin === text && /^https?:$/.test(url.protocol)) || "Expected an origin"
  })
)

export const DatabaseUrl = Schema.String.check(Schema.isPattern(/^postgres(ql)?:\/\/[^\s]+$/))
