/**
 * Frame of a thread: a header of one line, the scroller, the dock below it, and a panel beside it. On narrow screens the panel is a sheet.
 *
 * The frame fills the height of the window; only the thread and the panel scroll. Its header has the way back where neither the bar of the app
 * nor the sidebar is shown: on phones, there with the search, and beside two columns of code.
 */
import { Dialog } from "@base-ui/react/dialog"
import { Link } from "@tanstack/react-router"
import { type ReactNode, useContext } from "react"
import { OpenPalette } from "../palette/OpenPalette.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { usePageHeading } from "../ui/PageFrame.tsx"
import { useMedia, withoutPanel } from "../ui/useMedia.ts"
import { ThreadScroller } from "./ThreadScroller.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface Props {
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

export const ThreadFrame = ({ banner, children, dock, head, onClosePanel, panel, title }: Props) => {
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
