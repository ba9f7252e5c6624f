/**
 * A choice below the text of a composer: a small button with the current value, and a menu with the others or a form that sets it. On a phone,
 * several choices are rows of a sheet behind one button. Also the choices of every composer: the mode of the next turn, which is what the agent may do
 * without an approval, and the model, the agent's default or a name.
 */
import { Dialog } from "@base-ui/react/dialog"
import { Menu } from "@base-ui/react/menu"
import { Popover } from "@base-ui/react/popover"
import type { RunMode } from "@corral/domain/run/Run"
import { type ReactNode, useId, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { focusFirstField } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { uiMessages } from "../ui/messages.ts"
import { phone, useMedia } from "../ui/useMedia.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface ChipProps {
  /** What is chosen. Part of the accessible name. */
  readonly label: string
  readonly icon: IconName
  /** The current choice. */
  readonly text: string
  /** Whether the choice needs attention. */
  readonly isWarning?: boolean
  /** Whether a narrow composer shows the icon only. */
  readonly isCompact?: boolean
  readonly children: ReactNode
}

/** Classes of a chip. */
const chipClass = (isCompact: boolean, isWarning = false): string =>
  ["chip", isCompact ? "chip-compact" : "", isWarning ? "chip-warning" : ""].filter(Boolean).join(" ")

/** Content of a chip. */
const ChipFace = ({ icon, label, text }: Pick<ChipProps, "icon" | "label" | "text">) => (
  <>
    <Icon name={icon} size={14} />
    <span className="chip-label">{label}</span>
    <bdi className="chip-text">{text}</bdi>
    <span className="chip-fold">
      <Icon name="fold" size={14} />
    </span>
  </>
)

/**
 * A choice below the text of a composer: a small button with the current value, and a menu with the others. On a phone, several choices are rows
 * of a sheet behind one button.
 */
export const ChipMenu = ({ children, icon, isCompact = false, isWarning, label, text }: ChipProps) => (
  <Menu.Root>
    <Menu.Trigger className={chipClass(isCompact, isWarning)} aria-label={`${label}: ${text}`}>
      <ChipFace {...{ icon, label, text }} />
    </Menu.Trigger>
    <Menu.Portal>
      <Menu.Positioner className="menu-positioner" sideOffset={6} align="start">
        <Menu.Popup className="menu chip-menu">{children}</Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  </Menu.Root>
)

export interface ChipOption {
  readonly value: string
  readonly name: string
  /** Shown below the name. */
  readonly detail?: string
  readonly disabled?: boolean
}

interface ChoicesProps {
  readonly label: string
  readonly options: ReadonlyArray<ChipOption>
  readonly value: string | undefined
  readonly onChoose: (value: string) => void
}

export const ChipChoices = ({ label, onChoose, options, value }: ChoicesProps) => (
  <Menu.Group>
    <Menu.GroupLabel className="menu-label">{label}</Menu.GroupLabel>
    <Menu.RadioGroup value={value ?? ""} onValueChange={(chosen: string) => onChoose(chosen)}>
      {options.map(({ detail, disabled = false, name, value: option }) => (
        <Menu.RadioItem key={option} className="menu-item" value={option} disabled={disabled} closeOnClick>
          <span className="menu-mark" aria-hidden="true">
            {option === value ? "✓" : ""}
          </span>
          <span>
            <bdi>{name}</bdi>
            {detail !== undefined && (
              <>
                <br />
                <span className="quiet">{detail}</span>
              </>
            )}
          </span>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  </Menu.Group>
)

/** A command after the choices. */
export const ChipAction = ({
  children,
  isChosen = false,
  onClick
}: {
  readonly children: ReactNode
  /** Whether its choice is the current one. */
  readonly isChosen?: boolean
  readonly onClick: () => void
}) => (
  <>
    <Menu.Separator className="menu-line" />
    <Menu.Item className="menu-item" onClick={onClick}>
      <span className="menu-mark" aria-hidden="true">
        {isChosen ? "✓" : ""}
      </span>
      {children}
    </Menu.Item>
  </>
)

interface ChipSheetProps {
  /** What is chosen, in the order of its weight. */
  readonly summary: ReadonlyArray<string | undefined>
  /** Whether a choice needs attention. */
  readonly isWarning?: boolean
  readonly children: ReactNode
}

/** Chips of a composer: in its row, or on a phone behind one button that names the main ones, as rows of a sheet. */
export const ChipSheet = ({ children, isWarning = false, summary }: ChipSheetProps) => {
  const messages = useMessages(composerMessages)
  const isPhone = useMedia(phone)
  const text = summary.filter((part) => part !== undefined).join(" · ")
  if (!isPhone || text === "") return children
  return (
    <Dialog.Root>
      <Dialog.Trigger
        className={`${chipClass(false, isWarning)} chip-summary`}
        aria-label={`${messages.settings}: ${text}`}
      >
        <Icon name="options" size={14} />
        <bdi className="chip-text">{text}</bdi>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="chip-sheet">
          <Dialog.Title className="chip-sheet-title">{messages.settings}</Dialog.Title>
          {children}
          <Dialog.Close className="button primary">{messages.done}</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface ChipFormProps {
  /** What is chosen. Part of the accessible name. */
  readonly label: string
  readonly icon: IconName
  /** The current choice. */
  readonly text: string
  /** Whether only the icon is shown. */
  readonly isBare?: boolean
  readonly useLabel: string
  readonly resetLabel: string
  readonly onSubmit: (form: FormData) => void
  readonly onReset: () => void
  /** The fields. */
  readonly children: ReactNode
}

/** A choice below the text of a composer that is written: a chip with the current value, and a small form that sets it or resets it. */
export const ChipForm = (props: ChipFormProps) => {
  const { children, icon, isBare = false, label, onReset, onSubmit, resetLabel, text, useLabel } = props
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`${chipClass(true)}${isBare ? " chip-bare" : ""}`}
        aria-label={`${label}: ${text}`}
      >
        <ChipFace {...{ icon, label, text }} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="menu-positioner" sideOffset={6} align="start">
          <Popover.Popup className="menu chip-popup" aria-label={label} initialFocus={false}>
            <form
              className="form"
              ref={focusFirstField}
              onSubmit={(event) => {
                event.preventDefault()
                event.stopPropagation()
                onSubmit(new FormData(event.currentTarget))
                setOpen(false)
              }}
            >
              {children}
              <div className="form-actions">
                <button type="submit" className="button primary">
                  {useLabel}
                </button>
                <button
                  type="button"
                  className="button"
                  onClick={() => {
                    onReset()
                    setOpen(false)
                  }}
                >
                  {resetLabel}
                </button>
              </div>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

interface ModeChipProps {
  /** Modes that the workspace and the agent allow. */
  readonly modes: ReadonlyArray<RunMode>
  readonly mode: RunMode | undefined
  readonly onChoose: (mode: RunMode) => void
}

/** Mode of the next turn: what the agent may do without an approval. */
export const ModeChip = ({ mode, modes, onChoose }: ModeChipProps) => {
  const messages = useMessages(composerMessages)
  const { modeHints, modes: names } = useMessages(uiMessages)
  return (
    <ChipMenu
      label={messages.mode}
      icon="approvals"
      text={mode === undefined ? messages.noMode : names[mode]}
      isWarning={mode === "full_access" || mode === undefined}
    >
      <ChipChoices
        label={messages.modeHint}
        value={mode}
        options={modes.map((each) => ({ value: each, name: names[each], detail: modeHints[each] }))}
        onChoose={(value) => {
          const chosen = modes.find((each) => each === value)
          if (chosen !== undefined) onChoose(chosen)
        }}
      />
    </ChipMenu>
  )
}

/** Names of models that the Hub accepts. */
export const MODEL_PATTERN = "[A-Za-z0-9][A-Za-z0-9._:\\/@\\[\\]\\-]{0,127}"

interface ModelChipProps {
  /** Undefined for the agent's default. */
  readonly model: string | undefined
  /** The agent's default, where it is known. */
  readonly usual: string | undefined
  /** Names to offer. */
  readonly models: ReadonlyArray<string>
  readonly onChoose: (model: string | undefined) => void
}

/** Model of the next turn: the agent's default, or a name. */
export const ModelChip = ({ model, models, onChoose, usual }: ModelChipProps) => {
  const messages = useMessages(composerMessages)
  const listId = useId()
  return (
    <ChipForm
      label={messages.model}
      icon="reasoning"
      text={model ?? usual ?? messages.defaultModel}
      useLabel={messages.useModel}
      resetLabel={messages.defaultModel}
      onSubmit={(form) => {
        const chosen = textIn(form, "model")
        onChoose(chosen === "" ? undefined : chosen)
      }}
      onReset={() => onChoose(undefined)}
    >
      <Field label={messages.model} hint={messages.modelHint}>
        <input
          name="model"
          defaultValue={model ?? ""}
          placeholder={usual}
          pattern={MODEL_PATTERN}
          maxLength={128}
          list={listId}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <datalist id={listId}>
        {models.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </ChipForm>
  )
}
