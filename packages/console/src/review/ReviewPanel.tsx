/**
 * Side panel of a session: changes, files, artifacts, previews and the log of one turn. Fills the height of its parent and scrolls inside.
 *
 * Does not: place itself. Its parent shows it as a column or as a sheet; a column for a layout side by side is wider.
 */
import { Menu } from "@base-ui/react/menu"
import { Tabs } from "@base-ui/react/tabs"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Artifact } from "@corral/domain/run/Artifact"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { type ReactNode, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useDiffLayout } from "./ChangesBar.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { Time } from "../ui/Time.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import { ChangesTab } from "./ChangesTab.tsx"
import { ChangeSetTab, hasChangeSet } from "./ChangeSetTab.tsx"
import { FilesTab } from "./FilesTab.tsx"
import { LogTab } from "./LogTab.tsx"
import { type PanelTab, isPanelTab, panelTabs } from "./PanelTab.ts"
import { PreviewTab } from "./PreviewView.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

interface ArtifactsTabProps {
  readonly run: HubRun
  readonly scope?: ReactNode
}

/** Artifacts of a run, each with a link that downloads it. */
const ArtifactsTab = ({ run, scope }: ArtifactsTabProps) => {
  const messages = useMessages(reviewMessages)
  const list = useList<Artifact>(["runs", run.id, "artifacts"], ({ page, signal }) =>
    hubApi.runs.artifacts({ params: { id: run.id }, query: page, signal })
  )
  return (
    <>
      {scope !== undefined && <div className="panel-bar">{scope}</div>}
      <div className="panel-content">
        <ul className="panel-rows">
          {list.items.map(({ createdAt, id, mediaType, name, sha256, size }) => (
            <li key={id} className="panel-row">
              <Icon name="artifact" />
              <span className="panel-row-main">
                <ArtifactLink runId={run.id} artifactId={id}>
                  {visibleLine(name)}
                </ArtifactLink>{" "}
                <span className="quiet" title={`SHA-256 ${sha256}`}>
                  {visibleLine(mediaType, 60)} · {messages.size(size)} · <Time at={createdAt} />
                </span>
              </span>
            </li>
          ))}
        </ul>
        <ListMore list={list} empty={messages.noArtifacts} />
      </div>
    </>
  )
}

/** Turns that the menu lists. */
const MOST = 100

interface TurnMenuProps {
  readonly run: HubRun
  /** Newest first. */
  readonly runs: ReadonlyArray<HubRun>
  readonly onRun: (runId: HubRun["id"]) => void
}

/** Menu of the turns of a session: which one the panel shows. */
const TurnMenu = ({ onRun, run, runs }: TurnMenuProps) => {
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

/** The turn that a review shows. */
interface PinnedRun {
  readonly shown: HubRun["id"]
  readonly selected: HubRun["id"]
  readonly runs: ReadonlyArray<HubRun>
}

/**
 * The shown turn, and a function that shows another one. A page that follows the newest turn moves on when one starts; a review stays where its
 * reader is, and only says that the files changed.
 */
const usePinnedRun = (
  run: HubRun,
  runs: ReadonlyArray<HubRun>
): readonly [HubRun, (runId: HubRun["id"]) => void] => {
  const [pin, setPin] = useState<PinnedRun>({ shown: run.id, selected: run.id, runs })
  if (pin.selected !== run.id || pin.runs !== runs) {
    const isNewTurn = pin.runs.every(({ id }) => id !== run.id)
    const isMoved = pin.selected !== run.id && !isNewTurn
    setPin({ shown: isMoved ? run.id : pin.shown, selected: run.id, runs })
  }
  const show = (runId: HubRun["id"]) => setPin((current) => ({ ...current, shown: runId }))
  return [runs.find(({ id }) => id === pin.shown) ?? run, show]
}

export interface ReviewPanelProps {
  /** The turn that is shown. */
  readonly run: HubRun
  /** All turns of the session, newest first. */
  readonly runs: ReadonlyArray<HubRun>
  readonly tab: PanelTab
  readonly onTab: (tab: PanelTab) => void
  readonly onRun: (runId: HubRun["id"]) => void
  readonly onClose: () => void
  /** What sends line comments on a turn as one message, to its agent. Absent: read only. */
  readonly commentsOf?: ((run: HubRun) => ((text: string) => Promise<unknown>) | undefined) | undefined
}

export const ReviewPanel = (props: ReviewPanelProps) => {
  const { commentsOf, onClose, onRun, onTab, runs, tab } = props
  const messages = useMessages(reviewMessages)
  const { layout } = useDiffLayout()
  const [run, showRun] = usePinnedRun(props.run, runs)
  const isWide = tab === "changes" && layout === "split"
  const selectRun = (runId: HubRun["id"]) => {
    showRun(runId)
    onRun(runId)
  }
  const scope = runs.length > 1 ? <TurnMenu run={run} runs={runs} onRun={selectRun} /> : undefined
  const parts = { run, scope }
  const Changes = hasChangeSet(run) ? ChangeSetTab : ChangesTab
  return (
    <section className={isWide ? "review review-wide" : "review"} aria-label={messages.panel}>
      <Tabs.Root
        className="review-tabs"
        value={tab}
        onValueChange={(value) => isPanelTab(value) && onTab(value)}
      >
        <div className="review-head">
          <Tabs.List className="tabs review-tab-list">
            {panelTabs.map((name) => (
              <Tabs.Tab key={name} value={name} className="tab">
                {messages.tabs[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <button type="button" className="icon-button" aria-label={messages.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <Tabs.Panel value="changes" className="review-body">
          <Changes key={run.id} {...parts} runs={runs} onRun={selectRun} onComments={commentsOf?.(run)} />
        </Tabs.Panel>
        <Tabs.Panel value="files" className="review-body">
          <FilesTab key={run.id} {...parts} />
        </Tabs.Panel>
        <Tabs.Panel value="artifacts" className="review-body">
          <ArtifactsTab key={run.id} {...parts} />
        </Tabs.Panel>
        <Tabs.Panel value="preview" className="review-body">
          <PreviewTab key={run.id} {...parts} />
        </Tabs.Panel>
        <Tabs.Panel value="log" className="review-body">
          <LogTab key={run.id} {...parts} />
        </Tabs.Panel>
      </Tabs.Root>
    </section>
  )
}
