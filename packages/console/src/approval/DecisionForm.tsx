/**
 * Form of a decision: allow with an offered scope, deny with or without a reason, or edit.
 *
 * *Does not:* show the outcome; that is up to the caller. A key never decides by itself: keys move the focus, Enter presses the focused button.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import { Menu } from "@base-ui/react/menu"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type FormEvent, type ReactNode, useState } from "react"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useUnsentText } from "../ui/UnsentText.ts"
import { useRemainingTime } from "./Countdown.tsx"
import { type EditedTexts, EditForm } from "./EditForm.tsx"
import { FullRequest } from "./FullRequest.tsx"
import type { DecisionMutation } from "./useDecide.ts"
import type { SeenWhole } from "./useSeenWhole.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

interface StepProps {
  readonly decide: DecisionMutation
  readonly isBusy: boolean
}

interface ButtonsProps extends StepProps {
  readonly request: ApprovalRequest
  readonly seen: SeenWhole
  readonly onDeny: () => void
  readonly onEdit: () => void
  /** Further answers for the menu. */
  readonly more: ReactNode
}

/** Key that moves the focus to the button. */
const Key = ({ name }: { readonly name: string }) => (
  <kbd className="key" aria-hidden="true">
    {name}
  </kbd>
)

const DecisionButtons = ({ decide, isBusy, more, onDeny, onEdit, request, seen }: ButtonsProps) => {
  const messages = useMessages(approvalMessages)
  const allow = (scope: DecisionScope) => decide.mutate({ decision: "allow", scope })
  // What can't be seen can't be allowed.
  const isHidden = seen.hiddenLines > 0
  const wider = request.scopes.filter((scope) => scope === "session" || scope === "always")
  return (
    <div className="decision-buttons">
      {isHidden && <FullRequest {...{ request, seen }} />}
      <button
        type="button"
        className="button primary"
        {...(isHidden ? {} : { "data-key": "a", "aria-keyshortcuts": "a y" })}
        disabled={isBusy || isHidden}
        onClick={() => allow("once")}
      >
        <span>{messages.allow.once}</span>
        {!isHidden && <Key name="A" />}
      </button>
      {request.scopes.includes("run") && (
        <button type="button" className="button" disabled={isBusy || isHidden} onClick={() => allow("run")}>
          {messages.allow.run}
        </button>
      )}
      {request.editable && isJsonObject(request.input) && (
        <button
          type="button"
          className="button"
          data-key="e"
          aria-keyshortcuts="e"
          disabled={isBusy || isHidden}
          onClick={onEdit}
        >
          <span>{messages.edit}</span>
          <Key name="E" />
        </button>
      )}
      <button
        type="button"
        className="button danger"
        data-key="d"
        aria-keyshortcuts="d n"
        disabled={isBusy}
        onClick={() => decide.mutate({ decision: "deny" })}
      >
        <span>{messages.deny}</span>
        <Key name="D" />
      </button>
      <button type="button" className="button" disabled={isBusy} onClick={onDeny}>
        {messages.denyWhy}
      </button>
      {(wider.length > 0 || more !== undefined) && (
        <Menu.Root>
          <Menu.Trigger className="button" disabled={isBusy}>
            {messages.moreAnswers}
            <Icon name="fold" />
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Positioner className="menu-positioner" sideOffset={6} align="end">
              <Menu.Popup className="menu">
                {wider.map((scope) => (
                  <Menu.Item
                    key={scope}
                    className="menu-item"
                    disabled={isHidden}
                    title={scope === "always" ? messages.alwaysHint : undefined}
                    onClick={() => allow(scope)}
                  >
                    {messages.allow[scope]}
                  </Menu.Item>
                ))}
                {more}
              </Menu.Popup>
            </Menu.Positioner>
          </Menu.Portal>
        </Menu.Root>
      )}
    </div>
  )
}

interface DenyProps extends StepProps {
  readonly reason: string
  readonly onReason: (reason: string) => void
  readonly onBack: () => void
}

const DenyForm = ({ decide, isBusy, onBack, onReason, reason }: DenyProps) => {
  const messages = useMessages(approvalMessages)
  const deny = (event: FormEvent) => {
    event.preventDefault()
    decide.mutate({ decision: "deny", ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })
  }
  return (
    <form className="decision-form" onSubmit={deny}>
      <label>
        {messages.denyReason}
        <input
          // The user has just opened this form.
          autoFocus
          value={reason}
          maxLength={4_096}
          onChange={({ target }) => onReason(target.value)}
          onKeyDown={({ key }) => key === "Escape" && onBack()}
        />
      </label>
      <div className="decision-buttons">
        <button type="submit" className="button danger" disabled={isBusy}>
          {messages.denySend}
        </button>
        <button type="button" className="button" onClick={onBack}>
          {messages.goBack}
        </button>
      </div>
    </form>
  )
}

interface Props {
  readonly decide: DecisionMutation
  readonly projectId: HubRun["projectId"] | undefined
  readonly request: ApprovalRequest
  readonly expiresAt: string
  /** Whether the request was on the screen. */
  readonly seen: SeenWhole
  /** Further answers for the menu. */
  readonly more?: ReactNode
}

/** The answer that the user is writing. Its texts go to `UnsentText` if the request ends, however it ends. */
const OpenDecision = ({ decide, more, projectId, request, seen }: Props) => {
  const messages = useMessages(approvalMessages)
  const mayDecide = useCanDecide(projectId)
  const [step, setStep] = useState<"choose" | "deny" | "edit">("choose")
  const [reason, setReason] = useState("")
  const [edited, setEdited] = useState<EditedTexts>({})
  const isBusy = decide.isPending || decide.isSuccess
  const back = () => setStep("choose")
  useUnsentText([reason, ...Object.values(edited)].filter((text) => text.trim() !== "").join("\n\n"), isBusy)
  if (!mayDecide) return <p className="quiet">{messages.notYours}</p>
  return (
    <div className="decision" role="group" aria-label={firstCharacters(request.title, 200)}>
      {step === "choose" && (
        <DecisionButtons
          {...{ decide, isBusy, more, request, seen }}
          onDeny={() => setStep("deny")}
          onEdit={() => setStep("edit")}
        />
      )}
      {step === "deny" && <DenyForm {...{ decide, isBusy, reason }} onReason={setReason} onBack={back} />}
      {step === "edit" && isJsonObject(request.input) && (
        <EditForm
          input={request.input}
          edited={edited}
          busy={isBusy}
          onEdit={setEdited}
          onBack={back}
          onSend={(updatedInput) => decide.mutate({ decision: "allow", scope: "once", updatedInput })}
        />
      )}
      {decide.isPending && <p role="status">{messages.sending}</p>}
    </div>
  )
}

export const DecisionForm = (props: Props) => {
  const isExpired = useRemainingTime(props.expiresAt) <= 0
  return isExpired && !props.decide.isPending ? null : <OpenDecision {...props} />
}
