/**
 * Cookies of browsers: the session, its CSRF token, and the keys that bind a login and a chat link to a browser. All are for this host
 * only and over HTTPS only (browsers exempt localhost), and for the path of the Hub.
 *
 * A Hub at the root of its origin has cookies with the prefix `__Host-`, which browsers accept for the path `/` only. A Hub below a
 * path has cookies of that path, with the prefix `__Secure-`: other parts of the server don't receive them, and two Hubs of one origin
 * don't overwrite them.
 */
import { CSRF_COOKIE, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { csrfOf } from "../signin/SessionToken.ts"
import { PublicUrl } from "./Handlers.ts"

const HOST = "__Host-corral"
const SECURE = "__Secure-corral"

interface CookieScope {
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

/** Binds a login to a browser. */
const LOGIN_COOKIE = "__Host-corral-login"

/** Binds the link of a chat account to the browser that opened its page. */
const LINK_COOKIE = "__Host-corral-link"
const DAY = 86_400

interface Cookie {
  readonly name: string
  readonly value: string
  /** Seconds; 0 deletes the cookie. */
  readonly maxAge: number
  /** Whether scripts of pages can read it. */
  readonly isReadable?: boolean
}

const set = (
  { nameOf, path }: CookieScope,
  cookies: ReadonlyArray<Cookie>
): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  HttpEffect.appendPreResponseHandler((_, response) =>
    Effect.succeed(
      HttpServerResponse.setCookiesUnsafe(
        response,
        cookies.map(({ maxAge, name, isReadable = false, value }) => {
          const options = {
            path,
            secure: true,
            httpOnly: !isReadable,
            sameSite: "lax",
            maxAge: maxAge * 1_000
          } as const
          return [nameOf(name), value, options] as const
        })
      )
    )
  )

/** Sets the cookies of this Hub. */
export const sessionCookies = Effect.map(PublicUrl, (publicUrl) => {
  const scope = cookieScopeOf(publicUrl)
  return {
    beginLogin: (browser: string, maxAge: number) =>
      set(scope, [{ name: LOGIN_COOKIE, value: browser, maxAge }]),

    /** Sets the session token and its CSRF token. */
    beginSession: (token: string, maxAge: number) =>
      set(scope, [
        { name: SESSION_COOKIE, value: token, maxAge },
        { name: CSRF_COOKIE, value: csrfOf(token), maxAge, isReadable: true }
      ]),

    endSession: set(scope, [
      { name: SESSION_COOKIE, value: "", maxAge: 0 },
      { name: CSRF_COOKIE, value: "", maxAge: 0, isReadable: true }
    ]),

    /** Binds a chat link to a browser. */
    beginLink: (browser: string) => set(scope, [{ name: LINK_COOKIE, value: browser, maxAge: DAY }])
  }
})

/** Key of a browser; `undefined` if the cookie is missing or malformed. */
export const loginCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LOGIN_COOKIE], /^[A-Za-z0-9_-]{43}$/)

export const linkCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LINK_COOKIE], /^[A-Za-z0-9_-]{22}$/)

type Cookies = Readonly<Record<string, string | undefined>>

const shaped = (value: string | undefined, shape: RegExp): string | undefined =>
  value !== undefined && shape.test(value) ? value : undefined
