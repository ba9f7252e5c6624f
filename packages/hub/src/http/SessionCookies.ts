/**
 * The browser's cookies: the session's, the one that its pages repeat on writes, and the one that ties a login to the browser that began
 * it. All of them are `__Host-`: of this host alone, over HTTPS alone (browsers make an exception of localhost).
 */
import { CSRF_COOKIE, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { csrfOf } from "../signin/SessionToken.ts"

/** Ties a login to a browser. */
export const LOGIN_COOKIE = "__Host-corral-login"

interface Cookie {
  readonly name: string
  readonly value: string
  /** Seconds; 0 takes it away. */
  readonly maxAge: number
  /** Pages may read it. */
  readonly readable?: boolean
}

const set = (
  cookies: ReadonlyArray<Cookie>
): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  HttpEffect.appendPreResponseHandler((_, response) =>
    Effect.succeed(
      HttpServerResponse.setCookiesUnsafe(
        response,
        cookies.map(({ maxAge, name, readable = false, value }) => {
          const options = {
            path: "/",
            secure: true,
            httpOnly: !readable,
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

/** The session's token for the browser, and what its pages repeat. */
export const beginSession = (token: string, maxAge: number) =>
  set([
    { name: SESSION_COOKIE, value: token, maxAge },
    { name: CSRF_COOKIE, value: csrfOf(token), maxAge, readable: true }
  ])

export const endSession = set([
  { name: SESSION_COOKIE, value: "", maxAge: 0 },
  { name: CSRF_COOKIE, value: "", maxAge: 0, readable: true }
])

/** A browser's key from its cookies, where it has the shape of ours. */
export const loginCookie = (cookies: Readonly<Record<string, string | undefined>>): string | undefined => {
  const value = cookies[LOGIN_COOKIE]
  return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined
}
