/** Mode and model of the next turn: what the agent may do without an approval, and the agent's default model or a name. */
import type { RunMode } from "@corral/domain/run/Run"
import { useId } from "react"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { uiMessages } from "../ui/messages.ts"
import { ChipChoices, ChipForm, ChipMenu } from "./Chip.tsx"
import { composerMessages } from "./messages.ts"

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
