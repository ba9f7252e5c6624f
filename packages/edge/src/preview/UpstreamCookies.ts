/**
 * The cookies of what stands behind one preview. A browser sends a loopback address the cookies of all its ports: only those that this
 * upstream has set are handed to it, never a preview's own, and never another program's on this machine.
 */
import { isGateCookie } from "./PreviewGate.ts"

const MAX_NAMES = 100
const nameShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
/** `Domain` would widen it, `Secure` keep it from plain loopback, `SameSite` is ours to say. */
const keptAttribute = /^(path|expires|max-age)=|^httponly$/i

const nameOf = (pair: string): string => pair.slice(0, Math.max(0, pair.indexOf("="))).trim()

export class UpstreamCookies {
  readonly #names = new Set<string>()

  /** An upstream's `Set-Cookie` headers, as a browser may have them. */
  narrow(setCookies: ReadonlyArray<string>): ReadonlyArray<string> {
    return setCookies.flatMap((setCookie) => {
      const [pair = "", ...attributes] = setCookie.split(";").map((part) => part.trim())
      const name = nameOf(pair)
      if (!nameShape.test(name) || isGateCookie(name)) return []
      if (!this.#names.has(name) && this.#names.size >= MAX_NAMES) return []
      this.#names.add(name)
      const kept = attributes.filter((attribute) => keptAttribute.test(attribute))
      return [[pair, ...kept, "SameSite=Strict"].join("; ")]
    })
  }

  /** Of a browser's `Cookie` header, what the upstream may see; `undefined` where that is nothing. */
  own(cookie: string | undefined): string | undefined {
    const pairs = (cookie ?? "").split(";").map((pair) => pair.trim())
    const own = pairs.filter((pair) => this.#names.has(nameOf(pair)))
    return own.length === 0 ? undefined : own.join("; ")
  }
}
