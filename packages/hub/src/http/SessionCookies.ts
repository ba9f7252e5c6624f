/**
 * The browser's cookies: the session's, the one that its pages repeat on writes, and those that tie a login and the link of a chat account
 * to the browser that began it. All of them are `__Host-`: of this host alone, over HTTPS alone (browsers make an exception of localhost).
 */
import { CSRF_COOKIE, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { csrfOf } from "../signin/SessionToken.ts"

/** Ties a login to a browser. */
export const LOGIN_COOKIE = "__Host-corral-login"

/** Ties the link of a chat account to the browser that opened its page. */
const LINK_COOKIE = "__Host-corral-link"
const DAY = 86_400

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

/** Ties the link of a chat account to a browser. */
export const beginLink = (browser: string) => set([{ name: LINK_COOKIE, value: browser, maxAge: DAY }])

/** A browser's key from its cookies, where it has the shape of ours. */
export const loginCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LOGIN_COOKIE], /^[A-Za-z0-9_-]{43}$/)

export const linkCookie = (cookies: Cookies): string | undefined =>
  shaped(cookies[LINK_COOKIE], /^[A-Za-z0-9_-]{22}$/)

type Cookies = Readonly<Record<string, string | undefined>>

const shaped = (value: string | undefined, shape: RegExp): string | undefined =>
  value !== undefined && shape.test(value) ? value : undefined
