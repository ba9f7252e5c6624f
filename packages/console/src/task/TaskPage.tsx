/** A task until it is a run: then this address leads there. */
import type { TaskId } from "@corral/domain/identity/Ids"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Navigate } from "@tanstack/react-router"
import { hub } from "../api/Hub.ts"
import { useTargetName } from "../api/Known.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { Page } from "../ui/Page.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { uiWords } from "../ui/messages.ts"
import { taskWords } from "./messages.ts"

const over: ReadonlyArray<string> = ["completed", "failed", "cancelled", "expired"]

export const TaskPage = ({ taskId }: { readonly taskId: string }) => {
  const words = useWords(taskWords)
  const { modes } = useWords(uiWords)
  const client = useQueryClient()
  const id = taskId as TaskId
  const { data: task, error } = useQuery({
    queryKey: ["tasks", "one", id],
    queryFn: ({ signal }) => hub.tasks.get({ params: { id }, signal })
  })
  const target = useTargetName(task?.targetId)
  if (task?.runId !== undefined) return <Navigate to="/runs/$runId" params={{ runId: task.runId }} replace />
  if (task === undefined)
    return (
      <Page title={words.title}>
        <RefusalNote error={error} />
      </Page>
    )
  const isOver = over.includes(task.state)
  const cancel = async (): Promise<void> => {
    await hub.tasks.cancel({ params: { id } })
    await client.invalidateQueries({ queryKey: ["tasks"] })
  }
  return (
    <Page
      title={words.title}
      actions={
        !isOver && (
          <ConfirmDialog
            trigger={words.cancel}
            triggerClass="button"
            title={words.cancelTitle}
            confirm={words.cancel}
            onConfirm={cancel}
          >
            {words.cancelText}
          </ConfirmDialog>
        )
      }
    >
      <p role="status">
        <StateBadge state={task.state} />{" "}
        {isOver ? words.over : task.state === "queued" ? words.queued : words.waits}
      </p>
      {task.error !== undefined && <p className="refusal">{task.error.message}</p>}
      <dl className="facts">
        <dt>{words.device}</dt>
        <dd>{target ?? task.targetId}</dd>
        <dt>{words.workspace}</dt>
        <dd>{task.workspace}</dd>
        <dt>{words.agent}</dt>
        <dd>{task.agentId}</dd>
        <dt>{words.mode}</dt>
        <dd>{modes[task.mode]}</dd>
        {task.expiresAt !== undefined && (
          <>
            <dt>{words.until}</dt>
            <dd>
              <Time at={task.expiresAt} />
            </dd>
          </>
        )}
        <dt>{words.text}</dt>
        <dd className="said">{task.input.text}</dd>
      </dl>
    </Page>
  )
}
