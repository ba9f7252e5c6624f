/**
 * A task for several agents: the modes that all of them have, and the mutation that starts them on the text of a draft.
 *
 * Guarantees: a retry of the same task after a failure starts no agent twice.
 */
import type { Workspace } from "@corral/domain/device/Workspace"
import type { DeviceId, ProjectId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { findAgent, modesIn } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import type { Isolation, RunMode } from "@corral/domain/run/Run"
import type { Task } from "@corral/domain/task/Task"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import type { CandidateChoice } from "./CandidatesDialog.tsx"
import { candidateMessages } from "./candidateMessages.ts"
import { type Draft, useDraftFiles } from "./Draft.ts"
import { draftContent } from "./SendMessage.tsx"
import type { SetLimits } from "@corral/domain/run/LimitText"

/** Where candidates write. They never write into the workspace itself. */
export const isolationOf = (
  chosen: Isolation | undefined,
  workspace: Pick<Workspace, "isolation"> | undefined
): Exclude<Isolation, "none"> => {
  const usual = chosen ?? workspace?.isolation ?? "none"
  return usual === "none" ? "overlay" : usual
}

/** Modes in which each of the agents runs, most restrictive first. Pure. */
export const commonModes = (
  workspace: Workspace | undefined,
  agents: ReadonlyArray<Agent>,
  candidates: ReadonlyArray<CandidateChoice>,
  isolation: Isolation
): ReadonlyArray<RunMode> =>
  (workspace?.modes ?? []).filter((mode) =>
    candidates.every(({ agentId }) => {
      const agent = findAgent(agents, agentId)
      return agent === undefined || modesIn(workspace ?? { modes: [] }, agent, isolation).includes(mode)
    })
  )

/** What the candidates receive besides the text. */
export interface CandidateTask {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
  readonly candidates: ReadonlyArray<CandidateChoice>
  readonly mode: RunMode
  readonly limits: SetLimits
  /** Absent: the project's or the workspace's. */
  readonly isolation?: Isolation | undefined
  /** Absent: a new session. */
  readonly sessionId?: SessionId
  /** Whether the task waits for its device. */
  readonly waits: boolean
}

/** Starts the candidates on the text of the draft, which is removed once the Hub has the task. */
export const useStartCandidates = (draft: Draft, onStarted: (task: Task) => void | Promise<void>) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  // The same text sent later is another task.
  const [nth, setNth] = useState(0)
  return useMutation({
    mutationFn: async ({ candidates, isolation, limits, waits, ...place }: CandidateTask) => {
      const { payload: content } = draftContent(draft)
      const [first] = candidates
      if (first === undefined) throw new Error("no candidates")
      const payload = {
        ...place,
        agentId: first.agentId,
        input: { text: content.text },
        candidates,
        ...limits,
        ...(isolation === undefined || isolation === "none" ? {} : { isolation }),
        ...(waits ? { onOffline: "queue" as const } : {})
      }
      const task = await hubApi.tasks.create({
        headers: headersOf({ nth, payload }),
        payload,
        ...messageLimit
      })
      draft.removeSent(content.text, [])
      return task
    },
    onSuccess: async (task) => {
      setNth((current) => current + 1)
      for (const group of ["sessions", "runs", "tasks"]) void client.invalidateQueries({ queryKey: [group] })
      await onStarted(task)
    }
  })
}

/** What happens to the text, or why it can't go to several agents. */
export const useCandidatesHint = (
  draft: Draft,
  candidates: ReadonlyArray<CandidateChoice>
): { readonly hint: string; readonly isBlocked: boolean } => {
  const messages = useMessages(candidateMessages)
  const hasFiles = useDraftFiles(draft).length > 0
  if (candidates.length === 0) return { hint: "", isBlocked: false }
  return hasFiles
    ? { hint: messages.noFiles, isBlocked: true }
    : { hint: messages.hint(candidates.length), isBlocked: false }
}
