/**
 * App shell: the sidebar, or on narrow screens a bar that opens it, the page, and what is above every page: the banner of a lost connection, and
 * the number of pending requests for screen readers. `#content` scrolls; a page that scrolls inside, such as a thread, has its height.
 */
import { Dialog } from "@base-ui/react/dialog"
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router"
import { Suspense, lazy, useCallback, useEffect, useState, useSyncExternalStore } from "react"
import { type FeedConnection, useChangeFeed } from "../api/ChangeFeed.ts"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { usePending, usePendingCount } from "../api/Pending.ts"
import { useShortcuts } from "../keys/Shortcut.ts"
import { useTextInProgress } from "../keys/TextKey.ts"
import { useNotifications } from "../notification/Notifications.tsx"
import { OpenPalette } from "../palette/OpenPalette.ts"
import { useBrowserCopies } from "../preference/StoredPreferences.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { formatPointInTime } from "../text/Duration.ts"
import { Icon } from "../ui/Icon.tsx"
import { phone, useMedia, withoutSidebar } from "../ui/useMedia.ts"
import { noteLimits } from "../usage/UsedLimits.ts"
import { Sidebar } from "./Sidebar.tsx"
import { appMessages } from "./messages.ts"
import { useKeptFocus } from "./useKeptFocus.ts"

/** A connection that is back sooner is not worth a word. */
const UNNOTICED_MS = 2_000

interface LostConnection {
  /** When the Hub was last heard. */
  readonly since: Date
  /** Whether the browser itself is offline. */
  readonly offline: boolean
}

const subscribe = (listener: () => void) => {
  addEventListener("online", listener)
  addEventListener("offline", listener)
  return () => {
    removeEventListener("online", listener)
    removeEventListener("offline", listener)
  }
}

const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine)

/** Since when the connection is lost, once that is worth a word. */
const useLostConnection = ({ heardAt, live }: FeedConnection): LostConnection | undefined => {
  const online = useOnline()
  const [since, setSince] = useState<Date>()
  const connected = live && online
  useEffect(() => {
    if (connected) {
      setSince(undefined)
      return
    }
    // A browser that is offline has noticed it by itself.
    const lostAt = (live ? undefined : heardAt) ?? new Date()
    const timer = setTimeout(() => setSince(lostAt), UNNOTICED_MS)
    return () => clearTimeout(timer)
  }, [connected, heardAt, live])
  return connected || since === undefined ? undefined : { since, offline: !online }
}

/** Banner while the connection is lost: when the Hub was last heard, and that nothing written is lost. */
const ConnectionBanner = ({ connection }: { readonly connection: FeedConnection }) => {
  const messages = useMessages(appMessages)
  const { language } = useLanguage()
  const lost = useLostConnection(connection)
  const time = lost === undefined ? "" : formatPointInTime(lost.since, new Date(), language)
  return (
    <div role="status" className={lost === undefined ? "hidden" : "banner"}>
      {lost !== undefined && (
        <>
          <Icon name="offline" />
          <span>
            {[lost.offline ? messages.offline(time) : messages.reconnecting(time), messages.kept].join(
              sentenceSpace[language]
            )}
          </span>
        </>
      )}
    </div>
  )
}

/**
 * Number of pending approvals and questions for screen readers. Those of the open thread are left out: the thread says itself that it needs its reader.
 */
const PendingAnnouncement = () => {
  const messages = useMessages(appMessages)
  const { pathname } = useLocation()
  const runs = useLatestRuns()
  const { approvals, changes, inputs } = usePending()
  const open = pathname.split("/")[2] ?? ""
  const isOpen = (runId: string): boolean =>
    open !== "" && (runId === open || runs.find(({ id }) => id === runId)?.sessionId === open)
  const elsewhere = [...approvals, ...inputs, ...changes].filter(({ runId }) => !isOpen(runId)).length
  return (
    <span className="hidden" role="status">
      {elsewhere > 0 ? messages.waiting(elsewhere) : ""}
    </span>
  )
}

/** Bar of narrow screens: opens the sidebar as a sheet, searches, and starts a session. */
const PhoneBar = ({ onSearch }: { readonly onSearch: () => void }) => {
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

const loadPalette = () => import("../palette/Palette.tsx")
const loadKeys = () => import("../keys/KeysDialog.tsx")
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }))
const KeysDialog = lazy(async () => ({ default: (await loadKeys()).KeysDialog }))

const loaders = { palette: loadPalette, keys: loadKeys }
type Overlay = keyof typeof loaders

/** Opens an overlay. Its code loads when it is opened first; without a connection it stays closed. */
const useOverlays = () => {
  const [overlay, setOverlay] = useState<Overlay>()
  const [loaded, setLoaded] = useState<ReadonlySet<Overlay>>(new Set())
  const close = useCallback(
    (closed: Overlay) => setOverlay((current) => (current === closed ? undefined : current)),
    []
  )
  const open = useCallback(
    async (next: Overlay): Promise<void> => {
      setOverlay(next)
      try {
        await loaders[next]()
        setLoaded((before) => new Set([...before, next]))
      } catch {
        close(next)
      }
    },
    [close]
  )
  return { overlay, loaded, close, open }
}

export const Shell = () => {
  const messages = useMessages(appMessages)
  const navigate = useNavigate()
  const { close, loaded, open, overlay } = useOverlays()
  const notify = useNotifications()
  const connection = useChangeFeed((hints) => {
    noteLimits(hints)
    notify(hints)
  })
  const narrow = useMedia(withoutSidebar)
  useBrowserCopies()
  useTextInProgress()
  useKeptFocus()
  useShortcuts((shortcut) => {
    // An overlay that loads has the next keys.
    if (overlay !== undefined) return
    if (shortcut === "newSession") void navigate({ to: "/start" })
    else void open(shortcut)
  })
  const search = useCallback(() => void open("palette"), [open])
  // The first letters of a query come right after the keys that open the palette.
  useEffect(() => {
    const idle = globalThis.requestIdleCallback?.(() => void loadPalette().catch(() => undefined))
    return () => {
      if (idle !== undefined) cancelIdleCallback(idle)
    }
  }, [])
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {messages.skip}
      </a>
      {narrow ? <PhoneBar onSearch={search} /> : <Sidebar onSearch={search} />}
      <div className="stage">
        <ConnectionBanner connection={connection} />
        <PendingAnnouncement />
        <main id="content" tabIndex={-1} data-scroll-restoration-id="content">
          <OpenPalette value={search}>
            <Outlet />
          </OpenPalette>
        </main>
      </div>
      <Suspense>
        {loaded.has("palette") && (
          <Palette
            open={overlay === "palette"}
            onClose={() => close("palette")}
            onKeys={() => void open("keys")}
          />
        )}
        {loaded.has("keys") && <KeysDialog open={overlay === "keys"} onClose={() => close("keys")} />}
      </Suspense>
    </div>
  )
}
