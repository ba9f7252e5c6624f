/**
 * Frame of a thread: a header of one line, the scroller, the dock below it, and a panel beside it. On narrow screens the panel is a sheet.
 *
 * The frame fills the height of the window; only the thread and the panel scroll. Its header has the way back where neither the bar of the app
 * nor the sidebar is shown: on phones, there with the search, and beside two columns of code.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { Link, useNavigate } from "@tanstack/react-router"
import {
  type KeyboardEvent,
  lazy,
  type MouseEvent,
  type ReactNode,
  Suspense,
  useContext,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
  type WheelEvent
} from "react"
import { OpenPalette } from "../palette/OpenPalette.ts"
import { isPanelTab, type PanelTab } from "../review/PanelTab.ts"
import type { ReviewPanelProps } from "../review/ReviewPanel.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { usePageHeading } from "../ui/PageFrame.tsx"
import { useMedia, withoutPanel } from "../ui/useMedia.ts"
import { EndFollower, FollowContext } from "./EndFollower.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

/** Scroller that follows the end of its content: its elements, its gestures and its state. */
const useFollowEnd = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const end = useMemo(() => new EndFollower(), [])
  const state = useSyncExternalStore(end.subscribe, end.state)
  useLayoutEffect(() => {
    const [element, inner] = [scroller.current, content.current]
    return element === null || inner === null ? undefined : end.observe(element, inner)
  }, [end])
  const handlers = {
    onScroll: () => end.onScroll(),
    onWheel: ({ deltaY }: WheelEvent) => {
      if (deltaY < 0) end.leave()
    },
    onKeyDown: ({ key, shiftKey, target }: KeyboardEvent) => {
      if (target instanceof Element && target.closest("input, textarea") !== null) return
      if (["ArrowUp", "PageUp", "Home"].includes(key) || (key === " " && shiftKey)) end.leave()
    },
    /** A fold opens or closes: its row stays, and the end is no longer followed. */
    onClickCapture: ({ target }: MouseEvent) => {
      const fold = target instanceof Element ? target.closest("summary, [aria-expanded]") : null
      if (fold === null) return
      end.holdInPlace(fold)
      end.leave()
    }
  }
  return { content, end, handlers, scroller, state }
}

/** Scroller of a thread: it follows its end until the reader scrolls up, and shows a button to return. */
const ThreadScroller = ({ children }: { readonly children: ReactNode }) => {
  const messages = useMessages(threadMessages)
  const { content, end, handlers, scroller, state } = useFollowEnd()
  const { hasNew, isAtEnd, isFollowing } = state
  return (
    <FollowContext value={useMemo(() => ({ end, isFollowing }), [end, isFollowing])}>
      <div className="thread-view">
        <div
          ref={scroller}
          className="thread-scroll"
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={messages.thread}
          {...handlers}
        >
          <div ref={content} className="thread-column">
            {children}
          </div>
        </div>
        {!isFollowing && !isAtEnd && (
          <button type="button" className="button to-end" onClick={() => end.jumpToEnd()}>
            <Icon name="down" />
            {hasNew ? messages.newBelow : messages.toEnd}
          </button>
        )}
      </div>
    </FollowContext>
  )
}

interface ThreadFrameProps {
  readonly title: string
  /** State, device and buttons of the header. */
  readonly head: ReactNode
  /** Note under the header. */
  readonly banner?: ReactNode
  readonly children: ReactNode
  readonly dock?: ReactNode
  /** Absent while the panel is closed. */
  readonly panel?: ReactNode
  readonly onClosePanel: () => void
}

export const ThreadFrame = ({
  banner,
  children,
  dock,
  head,
  onClosePanel,
  panel,
  title
}: ThreadFrameProps) => {
  const messages = useMessages(threadMessages)
  const heading = usePageHeading(title)
  const isNarrow = useMedia(withoutPanel)
  const search = useContext(OpenPalette)
  const hasPanel = panel !== undefined
  return (
    <div className={hasPanel && !isNarrow ? "thread-page thread-page-split" : "thread-page"}>
      <div className="thread-main">
        <header className="thread-head">
          <Link to="/" className="icon-button thread-way" aria-label={messages.home}>
            <Icon name="back" size={20} />
          </Link>
          <h1 ref={heading} tabIndex={-1} title={title}>
            {title}
          </h1>
          <button
            type="button"
            className="icon-button thread-way"
            aria-label={messages.search}
            onClick={search}
          >
            <Icon name="search" size={18} />
          </button>
          {head}
        </header>
        {banner}
        <ThreadScroller>{children}</ThreadScroller>
        {dock !== undefined && (
          <div className="thread-dock">
            <div className="thread-dock-column">{dock}</div>
          </div>
        )}
      </div>
      {hasPanel && !isNarrow && (
        <aside className="thread-panel" aria-label={messages.panel}>
          {panel}
        </aside>
      )}
      <Dialog.Root open={hasPanel && isNarrow} onOpenChange={(open) => !open && onClosePanel()}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="panel-sheet" aria-label={messages.panel}>
            {panel}
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </div>
  )
}

interface PanelButtonsProps {
  readonly tab: PanelTab | undefined
  /** Opens a tab, or closes the panel. */
  readonly onTab: (tab: PanelTab | undefined) => void
}

const buttons = [
  ["changes", "changes", "changes"],
  ["files", "folder", "panelFiles"],
  ["log", "log", "log"]
] as const

/** Buttons of the header that open the panel. */
export const PanelButtons = ({ onTab, tab }: PanelButtonsProps) => {
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

/** The side panel of a thread: what opens and closes it. */
export interface ThreadPanel {
  /** Undefined while the panel is closed. */
  readonly tab: PanelTab | undefined
  /** The turn that is shown. Without one it is the newest. */
  readonly runId: HubRun["id"] | undefined
  /** Opens a tab, or closes the panel. */
  readonly open: (tab: PanelTab | undefined) => void
  /** Shows another turn. */
  readonly show: (runId: HubRun["id"]) => void
  readonly openRun: (runId: HubRun["id"], tab: PanelTab) => void
}

/** The side panel of a thread: its tab and its turn, which are in the address. `panel` and `runId` are search parameters of the page. */
export const useThreadPanel = (panel: string | undefined, runId: HubRun["id"] | undefined): ThreadPanel => {
  const navigate = useNavigate()
  return useMemo(() => {
    const tab = isPanelTab(panel) ? panel : undefined
    const go = (next: PanelTab | undefined, run: string | undefined) =>
      void navigate({
        to: ".",
        replace: true,
        search: {
          ...(next === undefined ? {} : { panel: next }),
          ...(run === undefined || next === undefined ? {} : { run })
        }
      })
    return {
      tab,
      runId,
      open: (next) => go(next, runId),
      show: (run) => go(tab, run),
      openRun: (run, next) => go(next, run)
    }
  }, [navigate, panel, runId])
}

const ReviewPanel = lazy(async () => {
  const { ReviewPanel: component } = await import("../review/ReviewPanel.tsx")
  return { default: component }
})

/** The side panel of a thread, loaded when it is first opened. */
export const SidePanel = (props: ReviewPanelProps) => (
  <Suspense fallback={<Loading />}>
    <ReviewPanel {...props} />
  </Suspense>
)
