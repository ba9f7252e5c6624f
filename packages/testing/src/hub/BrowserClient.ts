/** Client that sends a browser's session cookie, with the `Origin` and CSRF header of the Hub's own pages. */
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import type { UserId } from "@corral/domain/identity/Ids"
import type { Answer } from "../http/Answer.ts"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { type HubRequestOptions, HubClient } from "./HubClient.ts"

export class BrowserClient extends HubClient {
  readonly cookie: string
  readonly signInId: string

  constructor(
    url: string,
    signIn: { readonly token: string; readonly userId: UserId; readonly signInId: string }
  ) {
    super(url, null, signIn.userId)
    this.cookie = signIn.token
    this.signInId = signIn.signInId
  }

  override ask<Body = unknown>(
    method: string,
    target: string,
    { headers = {}, ...more }: HubRequestOptions = {}
  ): Promise<Answer<Body>> {
    const ownHeaders = {
      cookie: `${SESSION_COOKIE}=${this.cookie}`,
      origin: this.url,
      [CSRF_HEADER]: csrfOf(this.cookie)
    }
    return super.ask<Body>(method, target, { ...more, token: null, headers: { ...ownHeaders, ...headers } })
  }
}
