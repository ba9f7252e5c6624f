/** Sidebar: start of a session, search, places, the user's sessions and the user menu. On narrow screens it is a sheet. */
import { Link } from "@tanstack/react-router"
import { usePendingCount } from "../api/PendingCount.ts"
import { SessionList } from "../sidebar/SessionList.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Mark } from "../ui/Mark.tsx"
import { SidebarResize } from "./SidebarResize.tsx"
import { UserMenu } from "./UserMenu.tsx"
import { appMessages } from "./messages.ts"

const places = [
  { to: "/", name: "home" },
  { to: "/approvals", name: "approvals" },
  { to: "/board", name: "board" },
  { to: "/devices", name: "devices" },
  { to: "/projects", name: "projects" }
] as const

const PendingCount = () => {
  const messages = useMessages(appMessages)
  const waiting = usePendingCount()
  return (
    <>
      {waiting > 0 && (
        <span className="place-count" aria-hidden="true">
          {waiting}
        </span>
      )}
      {waiting > 0 && <span className="hidden">{messages.waiting(waiting)}</span>}
    </>
  )
}

interface Props {
  /** Opens the palette. */
  readonly onSearch: () => void
  /** Whether the sidebar is a sheet, with the width of the sheet. */
  readonly sheet?: boolean
}

export const Sidebar = ({ onSearch, sheet = false }: Props) => {
  const messages = useMessages(appMessages)
  return (
    <div className="sidebar">
      <div className="sidebar-head">
        <Link to="/" className="brand">
          <Mark />
          <span>Corral</span>
        </Link>
        <button
          type="button"
          className="sidebar-search"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={onSearch}
        >
          <Icon name="search" />
          <span className="hidden">{messages.search}</span>
          <kbd aria-hidden="true">{messages.searchKey}</kbd>
        </button>
      </div>
      <Link to="/start" className="button sidebar-new">
        <Icon name="plus" />
        {messages.newSession}
      </Link>
      <nav aria-label={messages.navigation}>
        <ul className="places">
          {places.map(({ name, to }) => (
            <li key={to}>
              <Link to={to} className="place" activeOptions={{ exact: to === "/" }}>
                <Icon name={name} />
                <span>{messages[name]}</span>
                {name === "approvals" && <PendingCount />}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <SessionList />
      <div className="sidebar-foot">
        <UserMenu />
      </div>
      {!sheet && <SidebarResize />}
    </div>
  )
}
