/** Chat at a running Hub: a Gateway, unique accounts, and links in every state. */
import { CHAT_ACCOUNT_HEADER, type ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import type { UserId } from "@corral/domain/identity/Ids"
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { ChatLinks } from "@corral/hub/chat/ChatLinks"
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import type { Answer } from "../http/Contract.ts"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { Browser } from "./Browser.ts"
import { HubClient } from "./HubClient.ts"
import type { HubProcess } from "./HubProcess.ts"

export const GATEWAY_TOKEN = "a-gateway-token-of-the-tests-0123456789"
export const gatewayEnv = { CORRAL_HUB_GATEWAY_TOKEN: GATEWAY_TOKEN }

export const newAccount = (): ChatAccount => ({
  platform: "feishu",
  app: "cli_a1",
  tenant: "tenant-1",
  account: `ou_${randomBytes(8).toString("hex")}`
})

const envelope = () => ({
  id: mint<IntegrationEvent["id"]>("evt", Date.now()),
  seq: 1,
  key: `feishu:${randomBytes(8).toString("hex")}`,
  createdAt: new Date().toISOString()
})

export const bindingRequired = (
  { account, app, platform, tenant }: ChatAccount,
  names: { readonly senderName?: string; readonly tenantName?: string } = {}
) => ({
  ...envelope(),
  type: "identity.binding.required",
  payload: { v: 1, platform, app, tenant, senderId: account, chatId: "oc_1", ...names }
})

export const messageReceived = ({ account, app, platform, tenant }: ChatAccount) => ({
  ...envelope(),
  type: "integration.message.received",
  payload: {
    v: 1,
    platform,
    app,
    tenant,
    upstreamEventId: randomBytes(8).toString("hex"),
    chatId: "oc_1",
    chatType: "direct",
    messageId: "om_1",
    senderId: account,
    text: "hello"
  }
})

export const cardAction = ({ account, app, platform, tenant }: ChatAccount) => ({
  ...envelope(),
  type: "integration.card.action",
  payload: {
    v: 1,
    platform,
    app,
    tenant,
    upstreamEventId: randomBytes(8).toString("hex"),
    actionId: "a1",
    operatorId: account
  }
})

/** Headers of a Gateway that acts as the user of the account. */
export const actingAs = (account: ChatAccount) => ({
  headers: { [CHAT_ACCOUNT_HEADER]: encodeChatAccount(account) }
})

/** The code of an unconfirmed link. */
export const startedLink = (hub: HubProcess, account: ChatAccount): Promise<string> =>
  hub.people.act(
    Effect.gen(function* () {
      const links = yield* ChatLinks
      return (yield* links.start(account, { name: undefined, tenantName: undefined })).code
    })
  )

/** The number of a link that this person has confirmed. */
export const confirmedLink = async (
  hub: HubProcess,
  account: ChatAccount,
  userId: UserId | undefined
): Promise<string> => {
  if (userId === undefined) throw new Error("the link was not confirmed")
  const code = await startedLink(hub, account)
  const confirmed = Effect.flatMap(ChatLinks, (links) =>
    Effect.andThen(links.open("a browser", code), links.confirm(userId, "a browser", code))
  )
  return (await hub.people.act(confirmed)).number
}

/** A person at a browser of the Hub's, as its pages act for them. */
export class Person {
  readonly browser: Browser
  readonly url: string

  constructor(url: string, browser: Browser) {
    this.url = url
    this.browser = browser
  }

  /** With a separate sign-in, in a new browser. */
  static async signedIn(hub: HubProcess, name: string): Promise<Person & { readonly signInId: string }> {
    const { signInId, token } = await hub.people.signIn(name, "web")
    const person = new Person(hub.url, new Browser())
    person.browser.cookies(hub.url).set(SESSION_COOKIE, token)
    return Object.assign(person, { signInId })
  }

  /** Fetches the page of a link. */
  async open(code: string): Promise<Response> {
    return this.browser.send(`${this.url}/link/${code}`)
  }

  post(path: string, body: unknown): Promise<Answer> {
    const token = this.browser.cookies(this.url).get(SESSION_COOKIE) ?? ""
    return this.browser.hub(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: this.url, [CSRF_HEADER]: csrfOf(token) },
      body: JSON.stringify(body)
    })
  }

  look(code: string): Promise<Answer> {
    return this.post("/client/chat-links/look", { code })
  }

  confirm(code: string): Promise<Answer> {
    return this.post("/client/chat-links/confirm", { code })
  }

  refuse(code: string): Promise<Answer> {
    return this.post("/client/chat-links/refuse", { code })
  }
}

/** The Gateway of a Hub that was started with `gatewayEnv`. */
export const gatewayOf = (hub: HubProcess): HubClient => new HubClient(hub.url, GATEWAY_TOKEN)
