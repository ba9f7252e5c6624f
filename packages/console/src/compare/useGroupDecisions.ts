/** Decisions about the changes of candidates: which part of which change set, and what the last one led to. */
import type { ChangeHunk, ChangeSelection, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { TaskGroupId, RunId } from "@corral/domain/identity/Ids"
import { useQueryClient } from "@tanstack/react-query"
import { taskGroupQuery } from "../api/TaskGroups.ts"
import { type DecidedPart, selectionOf } from "../review/setFiles.ts"
import { ALL, type Decision, useDecide } from "../review/useDecide.ts"

/** Equal changes of two candidates have equal ids. */
const keyOf = (runId: RunId, id: string): string => `${runId} ${id}`

export type GroupDecisions = ReturnType<typeof useGroupDecisions>

export const useGroupDecisions = (id: TaskGroupId, reload: () => Promise<unknown>) => {
  const client = useQueryClient()
  const reloadAll = async () => {
    await Promise.all([reload(), client.invalidateQueries({ queryKey: taskGroupQuery(id).queryKey })])
  }
  const { pending, send, ...deciding } = useDecide(id, { forget: () => undefined, reload: reloadAll })
  const idOf = ({ file, hunkId }: DecidedPart): string => hunkId ?? file.parts?.changed.id ?? ""
  const decide = (kind: "accept" | "reject", runId: RunId, part: DecidedPart, comment?: string): void => {
    const changed = part.file.parts?.changed
    if (changed === undefined) return
    send({ runId, kind, parts: selectionOf(part, changed), keys: [keyOf(runId, idOf(part))], comment })
  }
  return {
    ...deciding,
    reload: reloadAll,
    decide,
    /** Rejects the parts of a refused acceptance. */
    rejectParts: (runId: RunId, parts: ChangeSelection) => send({ runId, kind: "reject", parts, keys: [] }),
    decideAll: (
      kind: "accept" | "reject",
      { runId, version }: Pick<ChangeSet, "runId" | "version">,
      more: Pick<Decision, "comment" | "onDecided"> = {}
    ) => send({ runId, kind, parts: { all: true as const, version }, keys: [keyOf(runId, ALL)], ...more }),
    pendingAll: (runId: RunId) => pending.get(keyOf(runId, ALL)),
    /** What is on its way about the part, its file or everything. */
    pendingOf: (runId: RunId, { file, hunkId }: { file: DecidedPart["file"]; hunkId?: ChangeHunk["id"] }) =>
      (hunkId === undefined ? undefined : pending.get(keyOf(runId, hunkId))) ??
      pending.get(keyOf(runId, file.parts?.changed.id ?? "")) ??
      pending.get(keyOf(runId, ALL))
  }
}
