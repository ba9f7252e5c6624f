/**
 * Cookies of browsers: the session, its CSRF token, and the keys that bind a login and a chat link to a browser. All have the prefix
 * `__Host-`: this host only, over HTTPS only (browsers exempt localhost).
 */
import { CSRF_COOKIE, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { csrfOf } from "../signin/SessionToken.ts"

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
  cookies: ReadonlyArray<Cookie>
): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  HttpEffect.appendPreResponseHandler((_, response) =>
    Effect.succeed(
      HttpServerResponse.setCookiesUnsafe(
        response,
        cookies.map(({ maxAge, name, isReadable = false, value }) => {
          const options = {
            path: "/",
            secure: true,
            httpOnly: !isReadable,
            sameSite: "lax",
            maxAge: maxAge * 1_000
          } as const
          return [name, value, options] as const
        })
      )
    )
  )

export const beginLogin = (browser: string, maxAge: number) =>
  set([{ name: LOGIN_COOKIE, value: browser, maxAge }])

/** Sets the session token and its CSRF token. */
export const beginSession = (token: string, maxAge: number) =>
  set([
    { name: SESSION_COOKIE, value: token, maxAge },
    { name: CSRF_COOKIE, value: csrfOf(token), maxAge, isReadable: true }
  ])

export const endSession = set([
  { name: SESSION_COOKIE, value: "", maxAge: 0 },
  { name: CSRF_COOKIE, value: "", maxAge: 0, isReadable: true }
])

/** Binds a chat link to a browser. */
export const beginLink = (browser: string) => set([{ name: LINK_COOKIE, value: browser, maxAge: DAY }])

/** Key of a browser; `undefined` if the cookie is missing or malformed. */
export const loginCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LOGIN_COOKIE], /^[A-Za-z0-9_-]{43}$/)

export const linkCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LINK_COOKIE], /^[A-Za-z0-9_-]{22}$/)

type Cookies = Readonly<Record<string, string | undefined>>

const shaped = (value: string | undefined, shape: RegExp): string | undefined =>
  value !== undefined && shape.test(value) ? value : undefined
