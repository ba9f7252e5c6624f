/** Bar of narrow screens: opens the sidebar as a sheet, searches, and starts a session. */
import { Dialog } from "@base-ui/react/dialog"
import { Link, useLocation } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { usePendingCount } from "../api/PendingCount.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { phone, useMedia } from "../ui/useMedia.ts"
import { Sidebar } from "./Sidebar.tsx"
import { appMessages } from "./messages.ts"

export const PhoneBar = ({ onSearch }: { readonly onSearch: () => void }) => {
  const messages = useMessages(appMessages)
  const waiting = usePendingCount()
  const { href, pathname } = useLocation()
  const isPhone = useMedia(phone)
  const [open, setOpen] = useState(false)
  // A sheet closes when it has led somewhere.
  useEffect(() => setOpen(false), [href])
  const search = () => {
    setOpen(false)
    onSearch()
  }
  // The header of a thread leads back instead. A task leads to a thread.
  if (isPhone && /^\/(?:sessions|runs|tasks)\/./.test(pathname)) return <div />
  return (
    <header className="phone-bar">
      <Dialog.Root open={open} onOpenChange={setOpen}>
        <Dialog.Trigger className="icon-button" aria-label={messages.menu}>
          <Icon name="menu" size={20} />
        </Dialog.Trigger>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="sidebar-sheet" aria-label={messages.menu}>
            <Sidebar onSearch={search} sheet />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <Link to="/" className="brand">
        Corral
      </Link>
      {waiting > 0 && (
        <Link to="/approvals" className="icon-button" aria-label={messages.waiting(waiting)}>
          <Icon name="approvals" size={20} />
          <span className="count" aria-hidden="true">
            {waiting}
          </span>
        </Link>
      )}
      <button type="button" className="icon-button" aria-label={messages.search} onClick={onSearch}>
        <Icon name="search" size={20} />
      </button>
      <Link to="/start" className="icon-button" aria-label={messages.newSession}>
        <Icon name="plus" size={20} />
      </Link>
    </header>
  )
}
