/**
 * Form of a decision: allow with an offered scope, deny with or without a reason, or edit the input. It has a note of the lines that were not on
 * the screen yet, with a button that shows the whole request in a dialog.
 *
 * *Does not:* show the outcome; that is up to the caller. A key never decides by itself: keys move the focus, Enter presses the focused button.
 */
import { Dialog } from "@base-ui/react/dialog"
import { Menu } from "@base-ui/react/menu"
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { firstCharacters } from "@corral/domain/text/Cut"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { type FormEvent, type ReactNode, useState } from "react"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useUnsentText } from "../ui/UnsentText.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useRemainingTime } from "./Countdown.tsx"
import { RequestView } from "./RequestView.tsx"
import { approvalMessages } from "./messages.ts"
import type { DecisionMutation } from "./Decision.tsx"
import type { SeenWhole } from "./useSeenWhole.ts"
import "./approval.css"

type Input = Readonly<Record<string, unknown>>
/** Texts of the fields that the user has changed. */
type EditedTexts = Readonly<Record<string, string>>

interface EditFormProps {
  readonly input: Input
  readonly edited: EditedTexts
  readonly busy: boolean
  readonly onEdit: (edited: EditedTexts) => void
  readonly onSend: (updated: Record<string, unknown>) => void
  readonly onBack: () => void
}

interface FormButtonsProps {
  readonly kind: "primary" | "danger"
  readonly isBusy: boolean
  readonly onBack: () => void
  /** What the form sends. */
  readonly children: string
}

/** Sends a form of the decision, or leads back to the answers. */
const FormButtons = ({ children, isBusy, kind, onBack }: FormButtonsProps) => {
  const messages = useMessages(approvalMessages)
  return (
    <div className="decision-buttons">
      <button type="submit" className={`button ${kind}`} disabled={isBusy}>
        {children}
      </button>
      <button type="button" className="button" onClick={onBack}>
        {messages.goBack}
      </button>
    </div>
  )
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2)

/** Form for the edited tool input: text fields as text, other values as JSON. */
const EditForm = ({ busy, edited, input, onBack, onEdit, onSend }: EditFormProps) => {
  const messages = useMessages(approvalMessages)
  const [broken, setBroken] = useState<string>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const updated: Record<string, unknown> = { ...input }
    for (const [name, text] of Object.entries(edited)) {
      if (typeof input[name] === "string") updated[name] = text
      else
        try {
          updated[name] = JSON.parse(text)
        } catch {
          return setBroken(name)
        }
    }
    setBroken(undefined)
    return onSend(updated)
  }
  return (
    <form className="decision-form" onSubmit={submit} aria-label={messages.editTitle}>
      {Object.entries(input).map(([name, value], at) => {
        const text = edited[name] ?? textOf(value)
        return (
          <label key={name}>
            {typeof value === "string" ? visibleText(name) : messages.editJson(visibleText(name))}
            <textarea
              // The user has just opened this form.
              autoFocus={at === 0}
              spellCheck={false}
              rows={Math.min(16, text.split("\n").length + 1)}
              value={text}
              onChange={({ target }) => onEdit({ ...edited, [name]: target.value })}
            />
            {visibleText(text) !== text.replaceAll(/\r\n?/g, "\n") && (
              <span className="segment-why">⚠ {messages.editInvisible}</span>
            )}
          </label>
        )
      })}
      {broken !== undefined && <p role="alert">{messages.editBroken(broken)}</p>}
      <FormButtons kind="primary" isBusy={busy} onBack={onBack}>
        {messages.editSend}
      </FormButtons>
    </form>
  )
}

interface FullRequestProps {
  readonly request: ApprovalRequest
  readonly seen: SeenWhole
}

/**
 * Note of the lines of a request that were not on the screen yet, and the button that shows the whole request in a dialog. The request counts as
 * seen when the dialog closes: until then the dialog covers the answers.
 */
const FullRequest = ({ request, seen }: FullRequestProps) => {
  const messages = useMessages(approvalMessages)
  const ui = useMessages(uiMessages)
  return (
    <Dialog.Root onOpenChange={(isOpen) => !isOpen && seen.seeAll()}>
      <p className="hidden-lines" role="status">
        {messages.hiddenLines(seen.hiddenLines)}
      </p>
      <Dialog.Trigger className="button" data-key="a" aria-keyshortcuts="a y">
        {messages.showWhole}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog full-request">
          <Dialog.Title className="dialog-title">{messages.wholeRequest}</Dialog.Title>
          <RequestView request={request} isWhole />
          <div className="dialog-actions">
            <Dialog.Close className="button">{ui.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

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
      <FormButtons kind="danger" isBusy={isBusy} onBack={onBack}>
        {messages.denySend}
      </FormButtons>
    </form>
  )
}

interface DecisionFormProps {
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
const OpenDecision = ({ decide, more, projectId, request, seen }: DecisionFormProps) => {
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

export const DecisionForm = (props: DecisionFormProps) => {
  const isExpired = useRemainingTime(props.expiresAt) <= 0
  return isExpired && !props.decide.isPending ? null : <OpenDecision {...props} />
}
