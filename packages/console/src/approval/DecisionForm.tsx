/**
 * The ways to answer: allow, with the memory that the approval offers; deny with a reason; change what is done; cancel the run.
 *
 * What became of it is shown by whoever shows the approval. No key decides by itself: keys move the focus here, and Enter presses what has it.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type FormEvent, useState } from "react"
import { useMayDecide } from "../api/Known.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { useLeft } from "./Countdown.tsx"
import { EditForm, isEditable } from "./EditForm.tsx"
import type { DecisionMutation } from "./useDecide.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface Props {
  readonly decide: DecisionMutation
  readonly projectId: HubRun["projectId"] | undefined
  readonly request: ApprovalRequest
  readonly expiresAt: string
}

export const DecisionForm = ({ decide, expiresAt, projectId, request }: Props) => {
  const messages = useMessages(approvalMessages)
  const mayDecide = useMayDecide(projectId)
  const [form, setForm] = useState<"none" | "deny" | "edit">("none")
  const [reason, setReason] = useState("")
  const isOver = useLeft(expiresAt) <= 0
  const busy = decide.isPending || decide.isSuccess
  const wider = request.scopes.filter((scope) => scope !== "once")
  const deny = (event: FormEvent) => {
    event.preventDefault()
    decide.mutate({ decision: "deny", ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })
  }
  if (isOver && !decide.isPending) return null
  if (!mayDecide) return <p className="quiet">{messages.notYours}</p>
  return (
    <div className="decision" role="group" aria-label={request.title.slice(0, 200)}>
      {form === "none" && (
        <div className="decision-buttons">
          <button
            type="button"
            className="button primary"
            data-key="a"
            disabled={busy}
            onClick={() => decide.mutate({ decision: "allow", scope: "once" })}
          >
            {messages.allow.once}
          </button>
          {wider.map((scope) => (
            <button
              key={scope}
              type="button"
              className="button"
              disabled={busy}
              title={scope === "always" ? messages.alwaysHint : undefined}
              onClick={() => decide.mutate({ decision: "allow", scope })}
            >
              {messages.allow[scope]}
            </button>
          ))}
          {request.editable && isEditable(request.input) && (
            <button type="button" className="button" disabled={busy} onClick={() => setForm("edit")}>
              {messages.edit}
            </button>
          )}
          <button
            type="button"
            className="button danger"
            data-key="d"
            disabled={busy}
            onClick={() => setForm("deny")}
          >
            {messages.deny}
          </button>
          <ConfirmDialog
            trigger={messages.cancelRun}
            triggerClass="button"
            title={messages.cancelRunTitle}
            confirm={messages.cancelRun}
            onConfirm={() => decide.mutateAsync({ decision: "cancel" })}
          >
            {messages.cancelRunText}
          </ConfirmDialog>
        </div>
      )}
      {form === "deny" && (
        <form className="decision-form" onSubmit={deny}>
          <label>
            {messages.denyReason}
            <input
              // The form was just asked for.
              autoFocus
              value={reason}
              maxLength={4_096}
              onChange={({ target }) => setReason(target.value)}
              onKeyDown={({ key }) => key === "Escape" && setForm("none")}
            />
          </label>
          <div className="decision-buttons">
            <button type="submit" className="button danger" disabled={busy}>
              {messages.denySend}
            </button>
            <button type="button" className="button" onClick={() => setForm("none")}>
              {messages.goBack}
            </button>
          </div>
        </form>
      )}
      {form === "edit" && isEditable(request.input) && (
        <EditForm
          input={request.input}
          busy={busy}
          onBack={() => setForm("none")}
          onSend={(updatedInput) => decide.mutate({ decision: "allow", scope: "once", updatedInput })}
        />
      )}
      {decide.isPending && <p role="status">{messages.sending}</p>}
    </div>
  )
}
