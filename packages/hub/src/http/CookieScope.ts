/**
 * Names and path of the Hub's cookies, by the address at which browsers reach it. Pure.
 *
 * A Hub at the root of its origin has cookies with the prefix `__Host-`, which browsers accept for the path `/` only. A Hub below a path has
 * cookies of that path, with the prefix `__Secure-`: other parts of the server don't receive them, and two Hubs of one origin don't overwrite them.
 */

const HOST = "__Host-corral"
const SECURE = "__Secure-corral"

export interface CookieScope {
  /** Path of the cookies. */
  readonly path: string
  /** The same, as a prefix of paths: empty for `/`. */
  readonly prefix: string
  /** Name of a cookie in the browser, by its name in the contract. */
  readonly nameOf: (name: string) => string
  /** A `Cookie` header with the names of the contract. Cookies that another Hub of this origin has set are left out. */
  readonly received: (header: string) => string
}

export const cookieScopeOf = (publicUrl: string): CookieScope => {
  const path = new URL(publicUrl).pathname
  if (path === "/") return { path, prefix: "", nameOf: (name) => name, received: (header) => header }
  return {
    path,
    prefix: path,
    nameOf: (name) => (name.startsWith(HOST) ? SECURE + name.slice(HOST.length) : name),
    received: (header) =>
      header
        .split(";")
        .map((pair) => pair.trim())
        .filter((pair) => !pair.startsWith(HOST))
        .map((pair) => (pair.startsWith(SECURE) ? HOST + pair.slice(SECURE.length) : pair))
        .join("; ")
  }
}
