/** App shell: navigation, pending approvals, user menu. On a phone the navigation is at the bottom. */
import { Link, Outlet } from "@tanstack/react-router"
import { useChangeFeed } from "../api/ChangeFeed.ts"
import { usePendingCount } from "../api/PendingCount.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Mark } from "../ui/Mark.tsx"
import { UserMenu } from "./UserMenu.tsx"
import { appMessages } from "./messages.ts"

const navItems = [
  { to: "/", name: "home" },
  { to: "/projects", name: "projects" },
  { to: "/runs", name: "runs" },
  { to: "/approvals", name: "approvals" },
  { to: "/devices", name: "devices" },
  { to: "/audit", name: "audit" }
] as const

const Bell = () => {
  const messages = useMessages(appMessages)
  const waiting = usePendingCount()
  return (
    <>
      <Link to="/approvals" className="icon-button" title={messages.waiting(waiting)}>
        <Icon name="bell" />
        {waiting > 0 && (
          <span className="count" aria-hidden="true">
            {waiting}
          </span>
        )}
        <span className="hidden">{messages.waiting(waiting)}</span>
      </Link>
      <span className="hidden" role="status">
        {waiting > 0 ? messages.waiting(waiting) : ""}
      </span>
    </>
  )
}

export const Shell = () => {
  const messages = useMessages(appMessages)
  const live = useChangeFeed()
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {messages.skip}
      </a>
      <header className="top">
        <Link to="/" className="brand">
          <Mark />
          <span>Corral</span>
        </Link>
        <span className="top-state" role="status">
          {live ? "" : messages.reconnecting}
        </span>
        <Link to="/start" className="button primary start">
          <Icon name="plus" />
          <span>{messages.start}</span>
        </Link>
        <Bell />
        <UserMenu />
      </header>
      <nav className="ways" aria-label={messages.navigation}>
        {navItems.map(({ name, to }) => (
          <Link key={to} to={to} activeOptions={{ exact: to === "/" }}>
            <Icon name={name} />
            <span>{messages[name]}</span>
          </Link>
        ))}
      </nav>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  )
}
