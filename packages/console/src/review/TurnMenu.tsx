/** Menu of the turns of a session: which one the panel shows. */
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Menu } from "@base-ui/react/menu"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

/** Turns that the menu lists. */
const MOST = 100

interface Props {
  readonly run: HubRun
  /** Newest first. */
  readonly runs: ReadonlyArray<HubRun>
  readonly onRun: (runId: HubRun["id"]) => void
}

export const TurnMenu = ({ onRun, run, runs }: Props) => {
  const messages = useMessages(reviewMessages)
  const at = runs.findIndex(({ id }) => id === run.id)
  return (
    <Menu.Root>
      <Menu.Trigger className="turn-button">
        {at <= 0 ? messages.thisTurn : messages.turn(runs.length - at)}
        <Icon name="fold" size={14} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" sideOffset={4} align="start">
          <Menu.Popup className="menu turn-menu" aria-label={messages.turns}>
            <Menu.RadioGroup value={run.id} onValueChange={onRun}>
              {runs.slice(0, MOST).map((each, nth) => (
                <Menu.RadioItem key={each.id} className="menu-item" value={each.id} closeOnClick>
                  <span className="menu-mark">{each.id === run.id ? "✓" : ""}</span>
                  <span className="turn-text">
                    {visibleLine(messageOfPrompt(each.input.text), 60)}{" "}
                    <span className="quiet turn-time">
                      {messages.turn(runs.length - nth)} · <Time at={each.createdAt} />
                    </span>
                  </span>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
