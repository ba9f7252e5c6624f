/** What requests of the table refer to: the world of a team, sign-ins, keys and linked chat accounts. */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { Caller } from "@corral/domain/hub-api/HubAuthorization"
import type { ChatBindingId } from "@corral/domain/identity/Ids"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { newToken } from "../../src/signin/SessionToken.ts"
import { confirmedLink, GATEWAY_TOKEN, newAccount, startedLink } from "@corral/testing/hub/Chats"
import { HubClient } from "@corral/testing/hub/HubClient"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { clientOf, type People, roles, type TeamParts, teamParts, type TeamWorld } from "./TeamWorld.ts"

/** Sign-ins, keys and linked chat accounts. */
interface AccessWorld {
  /** Belongs to the caller of the test. */
  readonly apiKeyId: string
  readonly signInId: string
  readonly userCode: string
  readonly deviceCode: string
  /** Binding of the owner's chat account. */
  readonly bindingId: ChatBindingId
  readonly bound: ChatAccount
  /** A link that the owner has confirmed, and the code of an open one. */
  readonly confirmed: { readonly account: ChatAccount; readonly number: string }
  readonly code: string
}

export interface World extends TeamWorld, AccessWorld {}

/** Clients by caller. */
export const everyone = async (hub: HubProcess): Promise<People> => {
  const found = new Map<Caller, HubClient>([["no sign-in", hub.client]])
  for (const name of [...roles, "not a member"] as const) found.set(name, await hub.signedIn(name))
  const over = await hub.people.signIn("over")
  await hub.people.act(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.orDie(sql`UPDATE sign_ins SET idle_until = '2020-01-01' WHERE id = ${over.signInId}`)
    )
  )
  found.set("an expired sign-in", new HubClient(hub.url, over.token))
  const ended = await hub.people.signIn("ended")
  await hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.revoke(ended.signInId)))
  found.set("a revoked sign-in", new HubClient(hub.url, ended.token))
  found.set("a token of another kind", new HubClient(hub.url, newToken("join")))
  found.set("a Gateway", new HubClient(hub.url, GATEWAY_TOKEN))
  return found
}

const makeAccessWorld = async (hub: HubProcess, people: People, caller: Caller): Promise<AccessWorld> => {
  const owner = clientOf(people, "owner")
  const codes = await hub.client.ask<{ readonly userCode: string; readonly deviceCode: string }>(
    "POST",
    "/client/auth/device/start",
    { body: { kind: "cli" } }
  )
  assert.strictEqual(codes.status, 200, codes.text)
  const { signInId, userId } = await hub.people.signIn(caller)
  const key = await hub.people.act(
    Effect.flatMap(ApiKeyStore, (keys) =>
      keys.create(userId, { name: "ci", scopes: ["read"], expiresInDays: 1 })
    )
  )
  const bound = newAccount()
  const number = await confirmedLink(hub, bound, owner.userId)
  const gateway = new HubClient(hub.url, GATEWAY_TOKEN)
  const binding = await gateway.ask<{ readonly id: ChatBindingId }>("POST", "/integrations/bindings", {
    body: { ...bound, number }
  })
  assert.strictEqual(binding.status, 201, binding.text)
  const waiting = newAccount()
  return {
    bound,
    bindingId: binding.body.id,
    confirmed: { account: waiting, number: await confirmedLink(hub, waiting, owner.userId) },
    code: await startedLink(hub, newAccount()),
    signInId,
    userCode: codes.body.userCode,
    deviceCode: codes.body.deviceCode,
    apiKeyId: key.id
  }
}

/** Creates a world for the owner. */
export const makeWorld = async (hub: HubProcess, people: People): Promise<World> => {
  const team = teamParts(hub, people)
  return {
    projectId: await team.projectId(),
    sessionId: await team.sessionId(),
    deviceId: await team.deviceId(),
    agentInstanceId: await team.agentInstanceId(),
    message: await team.message(),
    attachmentId: await team.attachmentId(),
    extra: await team.extra(),
    newcomer: await team.newcomer(),
    taskId: await team.taskId(),
    group: await team.group(),
    runId: await team.runId(),
    approvalId: await team.approvalId(),
    inputId: await team.inputId(),
    changeSetId: await team.changeSetId(),
    ...(await makeAccessWorld(hub, people, "owner"))
  }
}

/** Fields of the world that a request refers to. */
export const fieldsOf = (request: (world: World) => unknown, world: World): ReadonlySet<string> => {
  const fields = new Set<string>()
  request(
    new Proxy(world, {
      get: (of, key) => {
        fields.add(String(key))
        return Reflect.get(of, key)
      }
    })
  )
  return fields
}

/** The same world with new values of the fields that a request refers to, and of what they need: the request may change those. */
export const renewedWorld = async (
  hub: HubProcess,
  people: People,
  world: World,
  fields: ReadonlySet<string>,
  caller: Caller
): Promise<World> => {
  const team = teamParts(hub, people)
  const renewed: Record<string, unknown> = {}
  let isOfAccess = false
  for (const field of fields) {
    if (Object.hasOwn(team, field)) renewed[field] = await team[field as keyof TeamParts]() // its own key
    else isOfAccess = true
  }
  return { ...world, ...renewed, ...(isOfAccess ? await makeAccessWorld(hub, people, caller) : {}) }
}
