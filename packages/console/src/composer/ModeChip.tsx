/** Mode of the next turn: what the agent may do without an approval. */
import type { RunMode } from "@corral/domain/run/Run"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import { ChipChoices, ChipMenu } from "./ChipMenu.tsx"
import { composerMessages } from "./messages.ts"

interface Props {
  /** Modes that the workspace and the agent allow. */
  readonly modes: ReadonlyArray<RunMode>
  readonly mode: RunMode | undefined
  readonly onChoose: (mode: RunMode) => void
}

export const ModeChip = ({ mode, modes, onChoose }: Props) => {
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
