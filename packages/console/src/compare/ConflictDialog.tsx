/** Conflict between a candidate and the workspace, which may have what another candidate wrote: both versions, and what a person can do. */
import { Dialog } from "@base-ui/react/dialog"
import type { GroupCandidate, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi, messageLimit } from "../api/Hub.ts"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { ConflictView } from "../review/ConflictView.tsx"
import { decideMessages } from "../review/decideMessages.ts"
import { sidesOf } from "../review/useDecide.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { GroupDecisions } from "./useComparison.ts"

/** Message to a candidate, about what was rejected or is in conflict. */
export const useTellCandidate = ({ sessionId }: TaskGroup) => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ candidate, text }: { readonly candidate: GroupCandidate; readonly text: string }) =>
      hubApi.sessions.addMessage({
        params: { id: sessionId },
        headers: { "idempotency-key": crypto.randomUUID() },
        payload: { text, to: candidate.agentInstanceId, onOffline: "queue" },
        ...messageLimit
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
}

interface ConflictProps {
  readonly decisions: GroupDecisions
  readonly group: TaskGroup
}

/** Files in conflict with the workspace: the candidate's version is rejected, or the candidate makes another one. */
export const ConflictDialog = ({ decisions, group }: ConflictProps) => {
  const messages = useMessages(decideMessages)
  const { comma } = usePunctuation()
  const { dismiss, outcome } = decisions
  const refused = outcome?.kind === "refused" ? outcome : undefined
  const files = sidesOf(refused?.error)
  const { parts, runId } = refused?.decision ?? {}
  const candidate = group.candidates.find(({ changes }) => changes?.runId === runId)
  const mayAsk = useCanWork(group.projectId) && candidate !== undefined && candidate.closed !== true
  const sending = useTellCandidate(group)
  const names = (most: number) => files.map(({ path }) => visibleLine(path, most))
  const ask = () =>
    candidate !== undefined &&
    sending.mutate(
      {
        candidate,
        text: messages.askText(
          names(400)
            .map((path) => `\`${path}\``)
            .join(comma)
        )
      },
      { onSuccess: dismiss }
    )
  return (
    <Dialog.Root open={files.length > 0} onOpenChange={(open) => !open && dismiss()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog dialog-conflict" aria-label={messages.conflictTitle(files.length)}>
          <ConflictView files={files} isRefused onDismiss={dismiss}>
            {parts !== undefined && runId !== undefined && (
              <button
                type="button"
                className="button small"
                data-decides
                disabled={decisions.isBusy}
                onClick={() => decisions.rejectParts(runId, parts)}
              >
                {messages.rejectPart(names(80).join(comma))}
              </button>
            )}
            {mayAsk && (
              <button
                type="button"
                className="button small"
                data-decides
                disabled={sending.isPending}
                onClick={ask}
              >
                {messages.askAgent}
              </button>
            )}
            <RefusalNote error={sending.error} />
          </ConflictView>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
