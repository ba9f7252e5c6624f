/** Content of a notification: read from the Hub, and only for those whom the change concerns. */
import type { QueryClient } from "@tanstack/react-query"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId, UserId } from "@corral/domain/identity/Ids"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectsQuery } from "../api/ProjectsAndTargets.ts"
import { sessionQuery } from "../api/Sessions.ts"
import type { NotifiableChange } from "./NotificationDecision.ts"

export interface NotificationContent {
  readonly kind: "approval" | "input" | "completed" | "failed"
  /** What waits, or the session or prompt of the run. */
  readonly title: string
  readonly text: string
  /** When it was requested or ended, in ISO 8601. */
  readonly at: string
  readonly run: Pick<HubRun, "id" | "sessionId">
}

const runOf = (id: RunId): Promise<HubRun> => hubApi.runs.get({ params: { id } })

/** Approvals concern those who can decide them. */
const approvalContent = async (
  client: QueryClient,
  { id, projectId }: Extract<NotifiableChange, { kind: "approval" }>
): Promise<NotificationContent | undefined> => {
  const projects = await client.fetchQuery(projectsQuery)
  const project = projects.items.find((each) => each.id === projectId)
  if (project !== undefined && !isAtLeast(project.role, project.approvals.approvers)) return undefined
  const { agentId, request, requestedAt, runId, workspace } = await hubApi.approvals.get({ params: { id } })
  const run = await runOf(runId)
  return { kind: "approval", title: request.title, text: `${agentId} · ${workspace}`, at: requestedAt, run }
}

/** Questions concern those who can write in the session, plans those who can decide approvals. */
const inputContent = async (
  client: QueryClient,
  { id, projectId }: Extract<NotifiableChange, { kind: "input" }>
): Promise<NotificationContent | undefined> => {
  const projects = await client.fetchQuery(projectsQuery)
  const project = projects.items.find((each) => each.id === projectId)
  const { agentId, kind, requestedAt, runId, title, workspace } = await hubApi.inputs.get({ params: { id } })
  const least = kind === "plan" ? project?.approvals.approvers : "member"
  if (project !== undefined && least !== undefined && !isAtLeast(project.role, least)) return undefined
  const run = await runOf(runId)
  return { kind: "input", title, text: `${agentId} · ${workspace}`, at: requestedAt, run }
}

/** An ended run concerns the user who created its session or its task. */
const runContent = async (
  client: QueryClient,
  { id, state }: Extract<NotifiableChange, { kind: "run" }>,
  reader: UserId
): Promise<NotificationContent | undefined> => {
  const run = await runOf(id)
  const { endedAt, error, input, replaced, resultText, sessionId, taskId, updatedAt } = run
  if (replaced === true) return undefined
  const session = sessionId === undefined ? undefined : await client.fetchQuery(sessionQuery(sessionId))
  const task =
    session !== undefined || taskId === undefined
      ? undefined
      : await hubApi.tasks.get({ params: { id: taskId } })
  if ((session ?? task)?.createdBy !== reader) return undefined
  return {
    kind: state,
    title: session?.title ?? messageOfPrompt(input.text),
    text: error?.message ?? resultText ?? "",
    at: endedAt ?? updatedAt,
    run
  }
}

export const notificationOf = (
  client: QueryClient,
  change: NotifiableChange,
  reader: UserId
): Promise<NotificationContent | undefined> =>
  change.kind === "approval"
    ? approvalContent(client, change)
    : change.kind === "input"
      ? inputContent(client, change)
      : runContent(client, change, reader)
