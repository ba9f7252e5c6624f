/**
 * Headers through a preview's proxy (RFC 9110 §7.6). Connection headers are not forwarded. The upstream sees its own address, and the browser
 * receives no header that would lead it to another origin.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http"
import { isGateCookie } from "./PreviewGate.ts"

// Cookies of one preview's upstream. A browser sends the cookies of all ports of a loopback address together. The upstream receives only the
// cookies that it has set: not the preview's, and not those of other programs on this machine.

const MAX_NAMES = 100
const nameShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
/** Attributes that are removed: `Domain` widens a cookie, `Secure` prevents plain loopback, and the preview sets `SameSite`. */
const allowedAttribute = /^(path|expires|max-age)=|^httponly$/i

const nameOf = (pair: string): string => pair.slice(0, Math.max(0, pair.indexOf("="))).trim()

export class UpstreamCookies {
  readonly #names = new Set<string>()

  /** An upstream's `Set-Cookie` headers for the browser. */
  narrow(setCookies: ReadonlyArray<string>): ReadonlyArray<string> {
    return setCookies.flatMap((setCookie) => {
      const [pair = "", ...attributes] = setCookie.split(";").map((part) => part.trim())
      const name = nameOf(pair)
      if (!nameShape.test(name) || isGateCookie(name)) return []
      if (!this.#names.has(name) && this.#names.size >= MAX_NAMES) return []
      this.#names.add(name)
      const remaining = attributes.filter((attribute) => allowedAttribute.test(attribute))
      return [[pair, ...remaining, "SameSite=Strict"].join("; ")]
    })
  }

  /** The upstream's part of a browser's `Cookie` header; `undefined` if there is none. */
  select(cookie: string | undefined): string | undefined {
    const pairs = (cookie ?? "").split(";").map((pair) => pair.trim())
    const selected = pairs.filter((pair) => this.#names.has(nameOf(pair)))
    return selected.length === 0 ? undefined : selected.join("; ")
  }
}

/** Headers of one connection. */
export const hopByHop: ReadonlyArray<string> = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
]

/** Request headers that an upstream must not receive. */
const notToUpstream: ReadonlyArray<string> = [
  "cookie",
  "expect",
  "forwarded",
  "host",
  "origin",
  "referer",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-real-ip"
]

/**
 * Headers of an upstream that the browser receives: those that describe the response. A browser acts on many others. It fetches (`Link`,
 * `Refresh`, `SourceMap`, `Speculation-Rules`), reports (`NEL`, `Report-To`), asks its user for a password (`WWW-Authenticate`), widens what a
 * worker controls (`Service-Worker-Allowed`), or keeps state for other ports of this machine.
 */
const toBrowserNames: ReadonlySet<string> = new Set([
  "accept-ranges",
  "age",
  "allow",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "cross-origin-embedder-policy",
  "date",
  "etag",
  "expires",
  "last-modified",
  "permissions-policy",
  "pragma",
  "retry-after",
  "server",
  "vary",
  "warning"
])
/** Headers that an application invented for its own pages. Browsers obey none but those listed below. */
const isOfApplication = (name: string): boolean => /^(x|hx)-/.test(name) && !actedUpon.has(name)
/** `x-` headers that browsers obey, or did, and those that the preview sends. */
const actedUpon: ReadonlySet<string> = new Set([
  "x-content-security-policy",
  "x-content-security-policy-report-only",
  "x-content-type-options",
  "x-contract-version",
  "x-dns-prefetch-control",
  "x-download-options",
  "x-frame-options",
  "x-permitted-cross-domain-policies",
  "x-request-id",
  "x-robots-tag",
  "x-sourcemap",
  "x-ua-compatible",
  "x-webkit-csp",
  "x-webkit-csp-report-only",
  "x-xss-protection"
])

/** The headers except those of the connection, which it may name, and except `names`. */
export const withoutHeaders = (
  headers: IncomingHttpHeaders,
  ...names: ReadonlyArray<ReadonlyArray<string>>
): OutgoingHttpHeaders => {
  const dropped = new Set(names.flat())
  for (const name of (headers.connection ?? "").split(",")) dropped.add(name.trim().toLowerCase())
  // Without its length, a body would be read as another request.
  dropped.delete("content-length")
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => value !== undefined && !dropped.has(name))
  )
}

/** Host of the upstream, as dev servers expect it. */
const upstreamOrigin = (upstreamPort: number): string => `http://localhost:${upstreamPort}`

/** A browser's request headers for the upstream. */
export const toUpstreamHeaders = (
  headers: IncomingHttpHeaders,
  upstreamPort: number,
  cookies: UpstreamCookies
): OutgoingHttpHeaders => {
  const cookie = cookies.select(headers.cookie)
  return {
    ...withoutHeaders(headers, hopByHop, notToUpstream),
    host: `localhost:${upstreamPort}`,
    // For the proxy's connection. Without it, a body of unknown length has no end.
    ...(headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
    ...(headers.origin === undefined ? {} : { origin: upstreamOrigin(upstreamPort) }),
    ...(cookie === undefined ? {} : { cookie })
  }
}

/** An upstream's response headers for the browser. `ownHeaders` replaces headers of the upstream. */
export const toBrowserHeaders = (
  headers: IncomingHttpHeaders,
  ownHeaders: Readonly<Record<string, string>>,
  cookies: UpstreamCookies
): OutgoingHttpHeaders => {
  const setCookie = cookies.narrow(headers["set-cookie"] ?? [])
  const described = Object.entries(withoutHeaders(headers, hopByHop, Object.keys(ownHeaders))).filter(
    ([name]) => toBrowserNames.has(name) || isOfApplication(name)
  )
  return {
    ...Object.fromEntries(described),
    ...(setCookie.length === 0 ? {} : { "set-cookie": [...setCookie] })
  }
}

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Target of a redirect on the preview's origin; `undefined` if it leads away from the upstream. */
export const redirectTarget = (
  location: string,
  {
    path,
    port,
    upstreamPort
  }: { readonly path: string; readonly port: number; readonly upstreamPort: number }
): string | undefined => {
  const base = `${upstreamOrigin(upstreamPort)}${path}`
  if (!URL.canParse(location, base)) return undefined
  const { protocol, hostname, port: to, username, password, pathname, search, hash } = new URL(location, base)
  const isOwn =
    protocol === "http:" && loopbackNames.has(hostname) && (to === "" ? "80" : to) === String(upstreamPort)
  // Absolute, because a path that begins with two slashes would name another server.
  return isOwn && username === "" && password === ""
    ? `http://127.0.0.1:${port}${pathname}${search}${hash}`
    : undefined
}
