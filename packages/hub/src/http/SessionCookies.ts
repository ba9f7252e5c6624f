/**
 * Cookies of browsers: the session, its CSRF token, and the keys that bind a login and a chat link to a browser. All are for this host only and
 * over HTTPS only (browsers exempt localhost), and for the path of the Hub (`CookieScope`).
 */
import { CSRF_COOKIE, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { csrfOf } from "../signin/SessionToken.ts"
import { type CookieScope, cookieScopeOf } from "./CookieScope.ts"
import { PublicUrl } from "./PublicUrl.ts"

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
