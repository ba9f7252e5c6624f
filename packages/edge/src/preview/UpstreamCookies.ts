/**
 * Cookies of one preview's upstream. A browser sends the cookies of all ports of a loopback address together. The upstream receives only the
 * cookies that it has set: not the preview's, and not those of other programs on this machine.
 */
import { isGateCookie } from "./PreviewGate.ts"

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
