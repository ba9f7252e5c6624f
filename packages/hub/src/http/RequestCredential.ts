/** Credentials of a request: the bearer token, the session cookie and the chat account that a Gateway names. Does not verify them. */
import { CHAT_ACCOUNT_HEADER } from "@corral/domain/chat/ChatAccount"
import { SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import type { RequestHead } from "@corral/service/http/RequestGuard"
import { headerOf } from "@corral/service/http/RequestGuard"
import type { Credential } from "../signin/HubCredentials.ts"

type Headers = RequestHead["headers"]

/** The session's token in the cookies; "" if the cookie came more than once. */
const cookieToken = (cookie = ""): string | undefined => {
  const tokens = cookie
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
  return tokens.length > 1 ? "" : tokens[0]?.slice(SESSION_COOKIE.length + 1)
}

/** The bearer token; "" if the header has another form. */
const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "")

export const credentialOf = (headers: Headers): Credential => ({
  bearer: bearerToken(headerOf({ headers }, "authorization")),
  cookie: cookieToken(headerOf({ headers }, "cookie")),
  chatAccount: headerOf({ headers }, CHAT_ACCOUNT_HEADER)
})
