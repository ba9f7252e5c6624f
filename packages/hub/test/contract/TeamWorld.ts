/** A private project with a user in every role, a shared device of its owner, a session and an agent. Each field is made when it is needed. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Caller } from "@corral/domain/hub-api/HubAuthorization"
import type {
  AgentInstanceId,
  ApprovalId,
  AttachmentId,
  ChangeSetId,
  DeviceId,
  InputRequestId,
  ProjectId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { CANDIDATES_FEATURE, LAYERS_FEATURE } from "@corral/domain/link/EdgeCommand"
import type { Message } from "@corral/domain/session/Message"
import type { Task } from "@corral/domain/task/Task"
import { assert } from "@effect/vitest"
import { HubClient, upload } from "@corral/testing/hub/HubClient"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import {
  approvalRequested,
  changeSetOf,
  createdRun,
  createRun,
  inputRequested,
  Mirror,
  newId,
  runStarted
} from "@corral/testing/hub/Mirror"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { makeProject, makeSession } from "@corral/testing/hub/People"

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
  /** Two candidates that wait for the device, and the first one's task. */
  readonly group: { readonly id: TaskGroupId; readonly taskId: TaskId }
  readonly runId: RunId
  readonly approvalId: ApprovalId
  readonly inputId: InputRequestId
  /** Of a run of the session. */
  readonly changeSetId: ChangeSetId
}

export const roles = ["owner", "admin", "member", "viewer"] as const

export type People = ReadonlyMap<Caller, HubClient>

export const clientOf = (people: People, caller: Caller): HubClient => {
  const client = people.get(caller)
  if (client === undefined) throw new Error(`there is no ${caller}`)
  return client
}

/** Makes each field with what it needs, once. */
export type TeamParts = { readonly [Field in keyof TeamWorld]: () => Promise<TeamWorld[Field]> }

const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let value: Promise<A> | undefined
  return () => (value ??= make())
}

const newPerson = (hub: HubProcess, name: string) => once(async () => (await hub.people.signIn(name)).userId)

/** The device and what is on it. No Edge is connected, so tasks for it wait. */
const deviceParts = (hub: HubProcess, owner: HubClient, projectId: TeamParts["projectId"]) => {
  const deviceId = once(async () => {
    const device = await registerDevice(owner, { sharedWith: [await projectId()] })
    await reportOffer(hub, device.id, {
      workspaces: ["site", "docs"],
      commands: [LAYERS_FEATURE, CANDIDATES_FEATURE],
      online: false
    })
    const linked = await owner.ask("POST", `/client/projects/${await projectId()}/workspaces`, {
      body: { targetId: device.id, workspace: "site" }
    })
    assert.strictEqual(linked.status, 201, linked.text)
    return device.id
  })
  const create = async (more: object = {}) => {
    const task = await owner.ask<Task>("POST", "/web/agent-tasks", {
      body: {
        projectId: await projectId(),
        targetId: await deviceId(),
        workspace: "site",
        agentId: "scripted",
        mode: "ask",
        input: { text: "Say hello" },
        onOffline: "queue",
        ...more
      }
    })
    assert.strictEqual(task.status, 201, task.text)
    return task.body
  }
  const taskId = once(async () => (await create()).id)
  const group = once(async () => {
    const candidates = ["small", "large"].map((model) => ({ agentId: "scripted", model }))
    const { groupId, id } = await create({ candidates })
    assert.isDefined(groupId)
    return { id: groupId, taskId: id }
  })
  const run = once(async () => {
    const approvalId = newId<ApprovalId>("apr")
    const inputId = newId<InputRequestId>("inq")
    const mirror = new Mirror(hub, await deviceId())
    const requests = [approvalRequested(approvalId), inputRequested(inputId)]
    return {
      approvalId,
      inputId,
      runId: await mirror.run(await projectId(), createdRun, runStarted, ...requests)
    }
  })
  return {
    deviceId,
    taskId,
    group,
    runId: async () => (await run()).runId,
    approvalId: async () => (await run()).approvalId,
    inputId: async () => (await run()).inputId
  }
}

/** The session and what is in it. */
const sessionParts = (
  owner: HubClient,
  { deviceId, projectId }: Pick<TeamParts, "deviceId" | "projectId">
) => {
  const sessionId = once(async () => (await makeSession(owner, { id: await projectId() })).id)
  const agentInstanceId = once(async () => {
    const agent = await owner.ask<AgentInstance>("POST", `/client/sessions/${await sessionId()}/agents`, {
      body: { agentId: "scripted", targetId: await deviceId(), workspace: "site" }
    })
    assert.strictEqual(agent.status, 201, agent.text)
    return agent.body.id
  })
  const write = async (body: object) => {
    const written = await owner.ask<Message>("POST", `/client/sessions/${await sessionId()}/messages`, {
      body
    })
    assert.strictEqual(written.status, 201, written.text)
    return written.body
  }
  const message = once(async () => {
    await agentInstanceId()
    await write({ text: "first", onOffline: "queue" })
    return write({ text: "second", onOffline: "queue" })
  })
  const attachmentId = once(async () => {
    const { id } = (await upload(owner, "notes.txt", "text/plain", "Some notes")).body
    await write({ text: "See these notes", to: "people", attachments: [id] })
    return id
  })
  return { sessionId, agentInstanceId, message, attachmentId }
}

/** A new project whose fields do not exist yet. */
export const teamParts = (hub: HubProcess, people: People): TeamParts => {
  const as = (caller: Caller): HubClient => clientOf(people, caller)
  const owner = as("owner")
  const extra = newPerson(hub, "extra")
  const projectId = once(async () => {
    const project = await makeProject(owner, "private", [
      ...roles.slice(1).map((role) => [as(role), role] as const),
      [new HubClient(hub.url, null, await extra()), "viewer"]
    ])
    return project.id
  })
  const device = deviceParts(hub, owner, projectId)
  const session = sessionParts(owner, { projectId, deviceId: device.deviceId })
  const changeSetId = once(async () => {
    const mirror = new Mirror(hub, await device.deviceId())
    const create = { ...createRun, sessionId: await session.sessionId() }
    const set = changeSetOf(await mirror.open(await projectId(), create))
    await mirror.changes(set)
    return set.id
  })
  const newcomer = newPerson(hub, "newcomer")
  return { projectId, extra, newcomer, changeSetId, ...device, ...session }
}
