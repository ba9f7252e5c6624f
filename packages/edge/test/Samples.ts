/** Runs, approvals and settings as tests need them: one of each, with what matters to the test replaced. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import {
  encodeUlid,
  type AgentId,
  type ApprovalId,
  type RunId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { join } from "node:path"
import { Layer } from "effect"
import { edgeDefaults, EdgeConfig } from "../src/config/EdgeConfig.ts"
import { mint } from "@corral/service/Identifiers"

export const at = "2026-01-01T00:00:00.000Z"
export const later = "2026-01-01T00:30:00.000Z"

/** The n-th id of a kind: they sort by n. */
export const runIdOf = (n: number): RunId => `run_${encodeUlid(n, new Uint8Array(10))}` as RunId
export const approvalIdOf = (n: number): ApprovalId =>
  `apr_${encodeUlid(n, new Uint8Array(10))}` as ApprovalId

/** No two calls give the same. */
export const newRunId = (): RunId => mint<RunId>("run", 1_000)

export const runOf = (id: RunId, more: Partial<Run> = {}): Run => ({
  id,
  workspace: "api" as WorkspaceId,
  agentId: "scripted" as AgentId,
  mode: "ask",
  state: "created",
  input: { text: "Look around." },
  timeoutMs: 60_000,
  lastSeq: 0,
  pendingApprovals: [],
  createdAt: at,
  updatedAt: at,
  ...more
})

export const created: RunMachineInput = {
  _tag: "Created",
  payload: { workspace: "api" as WorkspaceId, mode: "ask", input: { text: "Look around." } }
}

export const request = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  editable: false,
  scopes: ["once", "run"],
  ...more
})

export const messageInput = (text: string): RunMachineInput => ({
  _tag: "EventEmitted",
  event: draft("run.message.delta", { messageId: "m1", channel: "text", text })
})

/** The configuration as a service. */
export const configLayer = (home: string, more: Partial<EdgeConfig> = {}) =>
  Layer.succeed(EdgeConfig, configOf(home, more))

export const configOf = (home: string, more: Partial<EdgeConfig> = {}): EdgeConfig => ({
  ...edgeDefaults,
  home,
  tokenFile: join(home, "edge.token"),
  environment: { PATH: process.env.PATH ?? "" },
  ...more
})
