/**
 * Server of runs as commands use it: the Edge of this machine, or the Hub that the user is signed in to, with the states of their runs.
 *
 * Commands depend on this interface only. `SelectRunServer.ts` chooses the implementation.
 */
import type { Approval, DecideApproval } from "@corral/domain/approval/Approval"
import type {
  AcceptChanges,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import type { Diff } from "@corral/domain/edge-api/Diff"
import type { HubApproval, HubInput, HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { GroupComparison, GroupOutcome, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type {
  ApprovalId,
  ArtifactId,
  ChangedFileId,
  InputRequestId,
  RunId,
  TaskGroupId
} from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Candidate } from "@corral/domain/task/Task"
import type { Effect, Stream } from "effect"
import { randomUUID } from "node:crypto"
import type { CommandFailed } from "../CommandFailed.ts"
import type { ChangedFileHunks, ChangeList } from "./ChangeParts.ts"
import type { StreamEndpoint } from "./EventTail.ts"

/** Whether only a Hub has this state. */
export const isHubStatus = (state: HubRunStatus): state is "queued" => state === "queued"

export const hasEnded = (state: HubRunStatus): boolean => !isHubStatus(state) && isTerminal(state)

/** Request that sends a text to a run, the same at an Edge and at a Hub, with a key of its request only. */
export const textRequest = (id: RunId, text: string) => ({
  params: { id },
  headers: { "idempotency-key": randomUUID() },
  payload: { text }
})

/** Parameters of a new run. Only a Hub supports `target` and `queue`. */
export interface StartRun extends Pick<
  CreateRun,
  | "agentId"
  | "workspace"
  | "mode"
  | "input"
  | "model"
  | "isolation"
  | "budget"
  | "timeoutMs"
  | "backgroundMs"
  | "inputTtlMs"
  | "resume"
  | "sessionId"
> {
  /** The same key starts one run. */
  readonly key?: string
  /** Id or name of a device. */
  readonly target?: string
  /** Waits for a target that is offline. */
  readonly queue: boolean
}

export type DecisionRequest = Omit<DecideApproval, "runId" | "approvalId">

/** A decision about a change set. */
export type ChangesDecision =
  | { readonly kind: "accept"; readonly payload: AcceptChanges }
  | { readonly kind: "reject"; readonly payload: RejectChanges }
  | { readonly kind: "undo"; readonly payload: UndoChanges }

interface DecisionOf<Payload> {
  readonly params: { readonly id: RunId }
  readonly headers: { readonly "idempotency-key": string }
  readonly payload: Payload
}

/** Calls that decide about changes, the same at an Edge and at a Hub. */
interface ChangesCalls {
  readonly accept: (request: DecisionOf<AcceptChanges>) => ServerCall<DecidedChanges>
  readonly reject: (request: DecisionOf<RejectChanges>) => ServerCall<DecidedChanges>
  readonly undo: (request: DecisionOf<UndoChanges>) => ServerCall<DecidedChanges>
}

/** Sends a decision with a key of its request only. */
export const sendChangesDecision = (
  calls: ChangesCalls,
  id: RunId,
  decision: ChangesDecision,
  key: string = randomUUID()
): ServerCall<DecidedChanges> => {
  const request = { params: { id }, headers: { "idempotency-key": key } }
  switch (decision.kind) {
    case "accept":
      return calls.accept({ ...request, payload: decision.payload })
    case "reject":
      return calls.reject({ ...request, payload: decision.payload })
    case "undo":
      return calls.undo({ ...request, payload: decision.payload })
  }
}

export interface RunListQuery {
  readonly state?: HubRunStatus
  readonly limit: number
  readonly cursor?: string
}

/** Ids for a run without `--agent` or `--workspace`. */
export interface RunChoices {
  readonly workspaces: ReadonlyArray<string>
  readonly agents: ReadonlyArray<string>
}

export type ServerCall<A> = Effect.Effect<A, CommandFailed>

/** Groups of candidates. */
export interface GroupCalls {
  /** Starts each candidate on the task. `agentId` of the run is that of the first one. */
  readonly start: (run: StartRun, candidates: ReadonlyArray<Candidate>) => ServerCall<TaskGroupId>
  readonly get: (id: TaskGroupId) => ServerCall<TaskGroup>
  /** Undecided changes of all candidates, by file. */
  readonly compare: (id: TaskGroupId) => ServerCall<GroupComparison>
  readonly stop: (id: TaskGroupId) => ServerCall<GroupOutcome>
}

export interface RunServer {
  /** Whether an approved plan is carried out by the service. An Edge alone has no messages: the client starts the next run. */
  readonly carriesOutPlans: boolean
  /** Flags that select this server, each after a space, for suggested commands. Empty where the server was found without flags. */
  readonly named: string
  /** Read before every connection: a restarted service may have another address. */
  readonly stream: ServerCall<StreamEndpoint>
  readonly start: (run: StartRun) => ServerCall<RunId>
  /** What to call users in the events of this run. Ids where there are no names. */
  readonly naming: (id: RunId) => Effect.Effect<(user: string) => string>
  readonly run: (id: RunId) => ServerCall<Run | HubRun>
  /** Newest first. */
  readonly runs: (filter: RunListQuery) => ServerCall<{
    readonly items: ReadonlyArray<Run | HubRun>
    readonly nextCursor: string | null
  }>
  /** Approvals that need a decision, newest first. */
  readonly approvals: ServerCall<ReadonlyArray<Approval | HubApproval>>
  /** Agents that can run in this workspace now, and workspaces of the server. */
  readonly choices: ServerCall<RunChoices>
  /** Sends a text to the run in progress. */
  readonly send: (id: RunId, text: string) => ServerCall<void>
  /** Ends the background work of a run whose agent has ended its turn. */
  readonly finish: (id: RunId) => ServerCall<Run | HubRun>
  readonly cancel: (id: RunId) => ServerCall<Run | HubRun>
  readonly pause: (id: RunId) => ServerCall<Run | HubRun>
  readonly resume: (id: RunId) => ServerCall<Run | HubRun>
  readonly decide: (id: ApprovalId, decision: DecisionRequest) => ServerCall<Approval | HubApproval>
  /** Questions, forms and plans that need an answer, newest first. */
  readonly inputs: ServerCall<ReadonlyArray<InputRequest | HubInput>>
  readonly input: (id: InputRequestId) => ServerCall<InputRequest | HubInput>
  readonly answer: (id: InputRequestId, answer: InputAnswer) => ServerCall<InputRequest | HubInput>
  /** All pages. */
  readonly diff: (id: RunId) => ServerCall<Omit<Diff, "nextCursor" | "requestId">>
  /** Undecided files of the run's change set. All pages. */
  readonly changes: (id: RunId) => ServerCall<ChangeList>
  /** Undecided hunks of a file. All pages. */
  readonly changedFile: (id: RunId, fileId: ChangedFileId) => ServerCall<ChangedFileHunks>
  readonly decideChanges: (id: RunId, decision: ChangesDecision) => ServerCall<DecidedChanges>
  /** Absent at an Edge alone. */
  readonly groups?: GroupCalls
  readonly artifacts: (id: RunId) => ServerCall<ReadonlyArray<Artifact>>
  readonly content: (run: RunId, id: ArtifactId) => ServerCall<Stream.Stream<Uint8Array, CommandFailed>>
}
