/** Buttons of the header that open the panel. */
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { PanelTab } from "../review/PanelTab.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface Props {
  readonly tab: PanelTab | undefined
  /** Opens a tab, or closes the panel. */
  readonly onTab: (tab: PanelTab | undefined) => void
}

const buttons = [
  ["changes", "changes", "changes"],
  ["files", "folder", "panelFiles"],
  ["log", "log", "log"]
] as const

export const PanelButtons = ({ onTab, tab }: Props) => {
  const messages = useMessages(threadMessages)
  return (
    <>
      {buttons.map(([name, icon, text]) => (
        <button
          key={name}
          type="button"
          className={`icon-button panel-button panel-button-${name}`}
          title={messages[text]}
          aria-pressed={tab === name}
          onClick={() => onTab(tab === name ? undefined : name)}
        >
          <Icon name={icon} />
          <span className="panel-button-text">{messages[text]}</span>
        </button>
      ))}
    </>
  )
}
