import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import type { SignInKind } from "@corral/domain/identity/User"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Browser, BrowserClient, locationOf } from "@corral/testing/hub/Browser"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { CLIENT_ID, Issuer } from "../harness/Issuer.ts"
import { createdRun, Mirror, runStarted } from "@corral/testing/hub/Mirror"
import { refusedUpgrade, StreamReader } from "@corral/testing/hub/StreamReader"
import { UncontendedTime } from "@corral/testing/time/Until"

describe("live sockets of what has ended", () => {
  let issuer: Issuer
  let hub: HubInProcess
  let ada: HubClient
  let project: ProjectId
  let query: string

  beforeAll(async () => {
    issuer = await Issuer.open()
    hub = new HubInProcess({ env: issuer.env })
    await hub.start()
    await issuer.serve(hub.url)
    ada = await signedIn()
    const mirror = new Mirror(hub)
    project = await mirror.project(ada.userId)
    query = `runId=${await mirror.run(project, createdRun, runStarted)}`
  })

  afterAll(async () => {
    await hub.remove()
    await issuer.close()
  })

  /** A new sign-in of one person, who came by the provider. */
  const signedIn = async (): Promise<HubClient> => {
    const browser = new Browser()
    const signIn = await browser.hub(`${hub.url}/client/auth/login`)
    await browser.hub(await issuer.signIn(browser, locationOf(signIn), "ada"))
    const token = browser.cookies(hub.url).get("__Host-corral") ?? ""
    const me = await hub.client.ask<{ readonly user: { readonly id: HubClient["userId"] } }>(
      "GET",
      "/client/auth/me",
      { token }
    )
    return new HubClient(hub.url, token, me.body.user.id)
  }

  const issued = (kind: SignInKind) =>
    hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.issue(ada.userId as UserId, kind)))

  const closedWithin = async (reader: StreamReader, end: () => Promise<unknown>): Promise<void> => {
    await reader.count(2)
    const ending = new UncontendedTime()
    await end()
    assert.match((await reader.closed()).reason, /sign-in has ended/)
    assert.isBelow(ending.millis, 1_000)
  }

  const key = async (scopes: ReadonlyArray<string>) => {
    const browser = new BrowserClient(hub.url, await issued("web"))
    const { body } = await browser.ask<{ readonly id: string; readonly token: string }>(
      "POST",
      "/client/auth/keys",
      {
        body: { name: "ci", scopes }
      }
    )
    return { id: body.id, client: new HubClient(hub.url, body.token) }
  }

  it("are closed at logout", async () => {
    const client = await signedIn()
    await closedWithin(await StreamReader.open(client, query), () =>
      client.ask("POST", "/client/auth/logout")
    )
  })

  it("are closed when the provider says that the person is gone, and with them all of theirs", async () => {
    const readers = [await StreamReader.open(await signedIn(), query), await StreamReader.open(ada, query)]
    const seconds = Math.floor(Date.now() / 1_000)
    const logout_token = await issuer.sign(
      {
        iss: issuer.url,
        aud: CLIENT_ID,
        iat: seconds,
        exp: seconds + 60,
        jti: randomUUID(),
        sub: "ada",
        events: { "http://schemas.openid.net/event/backchannel-logout": {} }
      },
      { typ: "logout+jwt" }
    )
    for (const reader of readers) await reader.count(2)
    const ended = hub.client.ask("POST", "/client/auth/backchannel-logout", {
      body: String(new URLSearchParams({ logout_token })),
      headers: { "content-type": "application/x-www-form-urlencoded" }
    })
    await closedWithin(readers[0] as StreamReader, () => ended)
    await (readers[1] as StreamReader).closed()
    ada = await signedIn()
  })

  it("are closed when an exchanged token is used late, and not when a token is exchanged", async () => {
    const client = await signedIn()
    const reader = await StreamReader.open(client, query)
    await client.ask("POST", "/client/auth/refresh")
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE replaced_tokens SET replaced_at = replaced_at - interval '31 seconds'`
      )
    )
    await closedWithin(reader, () => client.ask("GET", "/client/auth/me"))
  })

  it("are closed when their key is removed", async () => {
    const { client, id } = await key(["read"])
    await closedWithin(await StreamReader.open(client, query), () =>
      ada.ask("DELETE", `/client/auth/keys/${id}`)
    )
    assert.strictEqual((await refusedUpgrade(client, query)).status, 401)
  })

  it("are not opened with a key that may not read", async () => {
    const { client } = await key(["write"])
    const { body, status } = await refusedUpgrade(client, query)
    assert.deepStrictEqual([status, body.code], [403, "permission_denied"])
  })
})
