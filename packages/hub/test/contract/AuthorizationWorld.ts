/** A private project with a user in every role, a shared device of its owner, a session and an agent. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { Caller } from "@corral/domain/hub-api/HubAuthorization"
import type {
  AgentInstanceId,
  ApprovalId,
  AttachmentId,
  ChatBindingId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { newToken } from "../../src/signin/SessionToken.ts"
import { confirmedLink, GATEWAY_TOKEN, newAccount, startedLink } from "@corral/testing/hub/Chats"
import { HubClient } from "@corral/testing/hub/HubClient"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { approvalRequested, createdRun, Mirror, newId, runStarted } from "@corral/testing/hub/Mirror"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { upload } from "@corral/testing/hub/Uploads"
import { makeProject, makeSession } from "@corral/testing/hub/Teams"

/** A project with what belongs to it. */
export interface TeamWorld {
  readonly projectId: ProjectId
  readonly sessionId: SessionId
  readonly deviceId: DeviceId
  readonly agentInstanceId: AgentInstanceId
  /** A pending message behind another one, which waits for the device. */
  readonly message: Message
  /** A file of another message of the session. */
  readonly attachmentId: AttachmentId
  /** A viewer who makes no calls. */
  readonly extra: UserId
  /** Not a member yet. */
  readonly newcomer: UserId
  readonly taskId: TaskId
  readonly runId: RunId
  readonly approvalId: ApprovalId
}

/** Sign-ins, keys and linked chat accounts. */
export interface AccessWorld {
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

const roles = ["owner", "admin", "member", "viewer"] as const

type People = ReadonlyMap<Caller, HubClient>

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

const clientOf = (people: People, caller: Caller): HubClient => {
  const client = people.get(caller)
  if (client === undefined) throw new Error(`there is no ${caller}`)
  return client
}

const makeTeamWorld = async (hub: HubProcess, people: People): Promise<TeamWorld> => {
  const as = (caller: Caller): HubClient => clientOf(people, caller)
  const owner = as("owner")
  const extra = await hub.people.signIn("extra")
  const newcomer = await hub.people.signIn("newcomer")
  const project = await makeProject(owner, "private", [
    ...roles.slice(1).map((role) => [as(role), role] as const),
    [new HubClient(hub.url, null, extra.userId), "viewer"]
  ])
  const device = await registerDevice(owner, { sharedWith: [project.id] })
  // No Edge is connected, so tasks for it wait.
  await reportOffer(hub, device.id, { workspaces: ["site", "docs"], online: false })
  const linked = await owner.ask("POST", `/client/projects/${project.id}/workspaces`, {
    body: { targetId: device.id, workspace: "site" }
  })
  assert.strictEqual(linked.status, 201, linked.text)
  const session = await makeSession(owner, project)
  const agent = await owner.ask<AgentInstance>("POST", `/client/sessions/${session.id}/agents`, {
    body: { agentId: "scripted", targetId: device.id, workspace: "site" }
  })
  assert.strictEqual(agent.status, 201, agent.text)
  const write = (text: string) =>
    owner.ask<Message>("POST", `/client/sessions/${session.id}/messages`, {
      body: { text, onOffline: "queue" }
    })
  assert.strictEqual((await write("first")).status, 201)
  const message = await write("second")
  assert.strictEqual(message.status, 201, message.text)
  const uploaded = await upload(owner, "notes.txt", "text/plain", "Some notes")
  const note = await owner.ask("POST", `/client/sessions/${session.id}/messages`, {
    body: { text: "See these notes", to: "people", attachments: [uploaded.body.id] }
  })
  assert.strictEqual(note.status, 201, note.text)
  const task = await owner.ask<{ readonly id: TaskId }>("POST", "/web/agent-tasks", {
    body: {
      projectId: project.id,
      targetId: device.id,
      workspace: "site",
      agentId: "scripted",
      mode: "ask",
      input: { text: "Say hello" },
      onOffline: "queue"
    }
  })
  assert.strictEqual(task.status, 201, task.text)
  const mirror = new Mirror(hub, device.id)
  const approvalId = newId<ApprovalId>("apr")
  const runId = await mirror.run(project.id, createdRun, runStarted, approvalRequested(approvalId))
  return {
    taskId: task.body.id,
    runId,
    approvalId,
    projectId: project.id,
    sessionId: session.id,
    deviceId: device.id,
    agentInstanceId: agent.body.id,
    message: message.body,
    attachmentId: uploaded.body.id,
    extra: extra.userId,
    newcomer: newcomer.userId
  }
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

/** Creates a world for a caller. */
export const makeWorld = async (
  hub: HubProcess,
  people: People,
  caller: Caller = "owner"
): Promise<World> => ({
  ...(await makeTeamWorld(hub, people)),
  ...(await makeAccessWorld(hub, people, caller))
})

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

const accessFields: Readonly<Record<keyof AccessWorld, true>> = {
  apiKeyId: true,
  signInId: true,
  userCode: true,
  deviceCode: true,
  bindingId: true,
  bound: true,
  confirmed: true,
  code: true
}

/** The same world with new things in the parts that a request refers to: the request may change those. */
export const renewedWorld = async (
  hub: HubProcess,
  people: People,
  world: World,
  fields: ReadonlySet<string>,
  caller: Caller = "owner"
): Promise<World> => {
  const isOfAccess = (field: string): boolean => Object.hasOwn(accessFields, field)
  return {
    ...world,
    ...([...fields].every(isOfAccess) ? {} : await makeTeamWorld(hub, people)),
    ...([...fields].some(isOfAccess) ? await makeAccessWorld(hub, people, caller) : {})
  }
}
