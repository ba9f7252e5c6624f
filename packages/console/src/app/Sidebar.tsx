/** Sidebar: start of a session, search, places, the user's sessions and the user menu. On narrow screens it is a sheet. */
import { Menu } from "@base-ui/react/menu"
import { Link, useNavigate } from "@tanstack/react-router"
import { type KeyboardEvent, type PointerEvent, useEffect } from "react"
import { useCurrentUser, useSignOut } from "../api/CurrentUser.ts"
import { usePendingCount } from "../api/Pending.ts"
import { useSelectLanguage, useTheme } from "../preference/StoredPreferences.ts"
import { SessionList } from "../sidebar/SessionList.tsx"
import { type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { Icon, Mark } from "../ui/Icon.tsx"
import { useStoredText } from "../ui/StoredText.ts"
import { type Theme, themes } from "../ui/Theme.ts"
import { useUsedLimits } from "../usage/UsedLimits.ts"
import { appMessages } from "./messages.ts"

const MIN = 208
const MAX = 360
const DEFAULT = 256
const STEP = 16

/** A stored width within the limits. */
export const sidebarWidthOf = (text: string | null): number => {
  const width = text === null ? DEFAULT : Math.round(Number(text))
  return Number.isFinite(width) ? Math.min(Math.max(width, MIN), MAX) : DEFAULT
}

/** Edge of the sidebar: dragged, or moved with arrow keys, it sets the width, which this browser remembers. */
const SidebarResize = () => {
  const messages = useMessages(appMessages)
  const [text, store] = useStoredText("corral.sidebar")
  const width = sidebarWidthOf(text)
  useEffect(() => {
    document.documentElement.style.setProperty("--sidebar", `${width}px`)
    return () => void document.documentElement.style.removeProperty("--sidebar")
  }, [width])
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key]
    if (by === undefined) return
    event.preventDefault()
    store(String(sidebarWidthOf(String(width + by))))
  }
  const onPointerMove = ({ buttons, clientX, currentTarget, pointerId }: PointerEvent<HTMLDivElement>) => {
    if (buttons === 1 && currentTarget.hasPointerCapture(pointerId))
      store(String(sidebarWidthOf(String(clientX))))
  }
  return (
    <div
      className="sidebar-resize"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={messages.sidebarWidth}
      aria-valuenow={width}
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      onKeyDown={onKeyDown}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={onPointerMove}
      onDoubleClick={() => store(String(DEFAULT))}
    />
  )
}

const languages: ReadonlyArray<readonly [Language, string]> = [
  ["en", "English"],
  ["zh", "中文"]
]

/** User menu: account, theme, language and sign-out. */
const UserMenu = () => {
  const messages = useMessages(appMessages)
  const { language } = useLanguage()
  const selectLanguage = useSelectLanguage()
  const [theme, choose] = useTheme()
  const { user } = useCurrentUser()
  const navigate = useNavigate()
  const signOut = useSignOut()
  return (
    <Menu.Root>
      <Menu.Trigger className="user-button">
        <Icon name="account" size={18} />
        <bdi>{user.name}</bdi>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" side="top" sideOffset={6} align="start">
          <Menu.Popup className="menu">
            <Menu.Item className="menu-item" onClick={() => void navigate({ to: "/account" })}>
              <span>
                <strong>{user.name}</strong>
                <br />
                <span className="quiet">{user.email ?? messages.account}</span>
              </span>
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => void navigate({ to: "/audit" })}>
              {messages.audit}
            </Menu.Item>
            <Menu.Separator className="menu-line" />
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">{messages.appearance}</Menu.GroupLabel>
              <Menu.RadioGroup value={theme} onValueChange={(chosen: Theme) => choose(chosen)}>
                {themes.map((each) => (
                  <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick={false}>
                    <span className="menu-mark">{theme === each ? "✓" : ""}</span>
                    {messages.themes[each]}
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            <Menu.Separator className="menu-line" />
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">{messages.language}</Menu.GroupLabel>
              <Menu.RadioGroup value={language} onValueChange={(chosen: Language) => selectLanguage(chosen)}>
                {languages.map(([each, name]) => (
                  <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick={false}>
                    <span className="menu-mark">{language === each ? "✓" : ""}</span>
                    <span lang={each}>{name}</span>
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            <Menu.Separator className="menu-line" />
            <Menu.Item className="menu-item" onClick={signOut}>
              {messages.signOut}
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

const places = [
  { to: "/", name: "home" },
  { to: "/approvals", name: "approvals" },
  { to: "/board", name: "board" },
  { to: "/devices", name: "devices" },
  { to: "/projects", name: "projects" },
  { to: "/usage", name: "usage" }
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

/** Share of the most used limit of the user today, from 80 % on. */
const UsedLimit = () => {
  const messages = useMessages(appMessages)
  const state = useUsedLimits()
  if (state === undefined) return null
  return (
    <>
      <span className="place-count" aria-hidden="true">
        {state === "reached" ? "100 %" : "80 %"}
      </span>
      <span className="hidden">{messages.limits[state]}</span>
    </>
  )
}

interface SidebarProps {
  /** Opens the palette. */
  readonly onSearch: () => void
  /** Whether the sidebar is a sheet, with the width of the sheet. */
  readonly sheet?: boolean
}

export const Sidebar = ({ onSearch, sheet = false }: SidebarProps) => {
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
                {name === "usage" && <UsedLimit />}
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
