/**
 * Mirrored runs of a Hub, written through its `RunLog` as an Edge would push them, with their projects, sessions and targets.
 */
import { assert } from "@effect/vitest"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { prove } from "@corral/domain/access/Authorization"
import type { ChangeDecision, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import {
  type AgentId,
  type ApprovalId,
  type ChangeDecisionId,
  type ChangeSetId,
  type DeviceId,
  eventIds,
  type InputRequestId,
  type ProjectId,
  type RunId,
  type SessionId,
  type TaskId,
  type UserId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import type { RequestedInput, ResolvedInputState } from "@corral/domain/input/InputRequest"
import type { ProjectRole } from "@corral/domain/project/Project"
import type { CreateRun } from "@corral/domain/run/Run"
import { draft, type Envelope, type EventDraft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Projects } from "@corral/hub/project/Projects"
import type { PushResult } from "@corral/hub/run/RunPushes"
import { ChangeSets } from "@corral/hub/change/ChangeSets"
import { RunLog } from "@corral/hub/run/RunLog"
import type { HubClient } from "./HubClient.ts"
import { newKey } from "./Offers.ts"
import type { HubProcess } from "./HubProcess.ts"

let last = 0

/** A new id. Each one is later than the one before, so that their order is known. */
export const newId = <Id extends string>(prefix: string): Id => {
  last = Math.max(last + 1, Date.now())
  return mint<Id>(prefix, last)
}

/** One event of a log, at a time that follows from its `seq`. */
export const envelopeAt = (runId: RunId, seq: number, { payload, type }: EventDraft): Envelope => ({
  id: eventIds(runId)(seq),
  seq,
  type,
  runId,
  createdAt: new Date(1_760_000_000_000 + seq).toISOString(),
  payload: { v: 1, ...payload }
})

/** The text of one event, as an Edge stores it. */
export const lineOf = (runId: RunId, seq: number, event: EventDraft): string =>
  JSON.stringify(envelopeAt(runId, seq, event))

/** Events of one run from `firstSeq` on. */
export const linesOf = (
  runId: RunId,
  firstSeq: number,
  events: ReadonlyArray<EventDraft>
): ReadonlyArray<string> => events.map((event, i) => lineOf(runId, firstSeq + i, event))

export const createRun: CreateRun = {
  workspace: "demo" as WorkspaceId,
  agentId: "scripted" as AgentId,
  input: { text: "Say hello" },
  mode: "ask"
}

export const createdRun = draft("run.created", {
  workspace: createRun.workspace,
  mode: createRun.mode,
  input: createRun.input
})
export const runStarted = draft("run.started", { model: "model-1" })
export const messageDelta = (text: string): EventDraft =>
  draft("run.message.delta", { messageId: "m1", channel: "text", text })
export const runCompleted = draft("run.completed", { text: "Done", usage: { inputTokens: 3 } })

const request: ApprovalRequest = {
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  editable: false,
  scopes: ["once"]
}
export const approvalRequested = (approvalId: ApprovalId): EventDraft =>
  draft("run.approval.requested", { approvalId, request, expiresAt: "2026-11-21T20:00:00.000Z" })
export const approvalResolved = (
  approvalId: ApprovalId,
  state: "approved" | "cancelled" | "denied" | "expired"
): EventDraft => draft("run.approval.resolved", { approvalId, state, by: "someone" })

/** A question that takes a text, or another request. */
export const inputRequested = (
  inputId: InputRequestId,
  request: RequestedInput = {
    kind: "question",
    title: "Name the release",
    questions: [{ id: "name", text: "What is the name?", kind: "text" }]
  }
): EventDraft => draft("run.input.requested", { inputId, request })
export const inputResolved = (
  inputId: InputRequestId,
  state: ResolvedInputState,
  more: Partial<PayloadOf<"run.input.resolved">> = {}
): EventDraft => draft("run.input.resolved", { inputId, state, ...more })

/** The open change set of a worktree that the run owns. */
export const changeSetOf = (runId: RunId, more: Partial<ChangeSet> = {}): ChangeSet => ({
  // The characters of the run's id, as an Edge chooses them.
  id: `chs_${runId.slice("run_".length)}` as ChangeSetId,
  runId,
  agentId: createRun.agentId,
  workspace: createRun.workspace,
  isolation: "worktree",
  state: "open",
  version: "version-1",
  fileCount: 1,
  additions: 2,
  deletions: 1,
  apart: 0,
  conflicts: 0,
  live: false,
  direct: false,
  ignored: [],
  commits: [],
  decisions: [],
  ...more
})

/** A decision about one hunk of one file of a set. */
export const changeDecisionOf = (
  { id: changeSetId, runId }: ChangeSet,
  more: Partial<ChangeDecision> = {}
): ChangeDecision => ({
  id: newId<ChangeDecisionId>("chd"),
  changeSetId,
  runId,
  kind: "accept",
  files: [],
  fileCount: 1,
  additions: 1,
  deletions: 0,
  patchHash: "0".repeat(64),
  at: "2026-11-21T12:00:00.000Z",
  ...more
})

export class Mirror {
  private readonly hub: HubProcess
  readonly targetId: DeviceId

  constructor(hub: HubProcess, targetId = newId<DeviceId>("dev")) {
    this.hub = hub
    this.targetId = targetId
  }

  async project(
    owner: UserId | undefined,
    visibility: "internal" | "private" = "private"
  ): Promise<ProjectId> {
    assert.isDefined(owner)
    const { id } = await this.hub.people.act(
      Effect.flatMap(Projects, (projects) => projects.create(owner, { name: "P", visibility }))
    )
    return id
  }

  async member(
    owner: UserId | undefined,
    projectId: ProjectId,
    userId: UserId | undefined,
    role: ProjectRole
  ) {
    assert.isDefined(owner)
    assert.isDefined(userId)
    const proof = Effect.fromResult(
      prove("member.manage", { principal: owner, subject: projectId }, undefined)
    )
    await this.hub.people.act(
      Effect.flatMap(Projects, (projects) =>
        Effect.flatMap(proof, (proof) => projects.addMember(proof, userId, role))
      )
    )
  }

  async noMember(owner: UserId | undefined, projectId: ProjectId, userId: UserId | undefined) {
    assert.isDefined(owner)
    assert.isDefined(userId)
    const proof = Effect.fromResult(
      prove("member.manage", { principal: owner, subject: projectId }, undefined)
    )
    await this.hub.people.act(
      Effect.flatMap(Projects, (projects) =>
        Effect.flatMap(proof, (proof) => projects.removeMember(proof, userId))
      )
    )
  }

  /** Creates a run without events. */
  async open(projectId: ProjectId, create: CreateRun = createRun, taskId?: TaskId): Promise<RunId> {
    const id = newId<RunId>("run")
    await this.hub.people.act(
      Effect.flatMap(RunLog, (log) => log.open({ id, projectId, targetId: this.targetId, create, taskId }))
    )
    return id
  }

  /** Pushes event texts of one run and returns the acknowledgement. */
  async push(runId: RunId, firstSeq: number, events: ReadonlyArray<string>): Promise<PushResult> {
    const [appended] = await this.hub.people.act(
      Effect.flatMap(RunLog, (log) => log.append(this.targetId, [{ runId, firstSeq, events }]))
    )
    assert.isDefined(appended)
    return appended
  }

  /** Pushes events and asserts that all of them are accepted. */
  async append(runId: RunId, firstSeq: number, ...events: ReadonlyArray<EventDraft>): Promise<void> {
    assert.deepStrictEqual(await this.push(runId, firstSeq, linesOf(runId, firstSeq, events)), {
      runId,
      seq: firstSeq + events.length - 1
    })
  }

  /** Pushes change sets, and asserts that they are this target's. */
  async changes(...sets: ReadonlyArray<ChangeSet>): Promise<void> {
    const pushed = sets.map((set) => ({ id: set.id, set: JSON.stringify(set) }))
    const acks = await this.hub.people.act(
      Effect.flatMap(ChangeSets, (changes) => changes.push(this.targetId, pushed))
    )
    assert.deepStrictEqual(
      acks,
      sets.map(({ id }) => ({ id }))
    )
  }

  /** A run with these events. */
  async run(projectId: ProjectId, ...events: ReadonlyArray<EventDraft>): Promise<RunId> {
    const id = await this.open(projectId)
    if (events.length > 0) await this.append(id, 1, ...events)
    return id
  }

  /** This target as a user's device, shared with projects. */
  async device(owner: UserId | undefined, ...sharedWith: ReadonlyArray<ProjectId>): Promise<DeviceId> {
    const id = this.targetId
    await this.sql(
      `INSERT INTO devices (id, owner_id, name, kind, public_key, created_at, last_seen_at)
       VALUES ('${id}', '${owner}', 'edge', 'edge', '${newKey()}', now(), '2026-11-21T12:00:00Z')`,
      ...sharedWith.map((project) => `INSERT INTO device_projects VALUES ('${id}', '${project}')`)
    )
    return id
  }

  /** Shares this target with the project. */
  share(projectId: ProjectId): Promise<void> {
    return this.sql(`INSERT INTO device_projects VALUES ('${this.targetId}', '${projectId}')`)
  }

  /** Links a workspace of this target to the project. */
  link(projectId: ProjectId, workspace: string = createRun.workspace): Promise<void> {
    return this.sql(
      `INSERT INTO workspace_links (project_id, target_id, workspace, added_by, added_at)
       VALUES ('${projectId}', '${this.targetId}', '${workspace}', 'usr_00000000000000000000000000', now())`
    )
  }

  /** A session of the project. */
  async session(projectId: ProjectId): Promise<SessionId> {
    const id = newId<SessionId>("ses")
    await this.sql(
      `INSERT INTO sessions (id, project_id, title, state, created_by, created_at, updated_at)
       VALUES ('${id}', '${projectId}', 'Release', 'active', 'usr_00000000000000000000000000', now(), now())`
    )
    return id
  }

  private sql(...statements: ReadonlyArray<string>): Promise<void> {
    return this.hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
      )
    )
  }
}

export interface StartedMirror {
  readonly ada: HubClient
  readonly mirror: Mirror
  /** Project of "ada". */
  readonly project: ProjectId
}

/** Starts the Hub, with a mirror, a user and a project. */
export const startMirror = async (hub: HubProcess): Promise<StartedMirror> => {
  await hub.start()
  const ada = await hub.signedIn("ada")
  const mirror = new Mirror(hub)
  return { ada, mirror, project: await mirror.project(ada.userId) }
}
