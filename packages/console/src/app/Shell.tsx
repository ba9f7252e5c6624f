/**
 * App shell: the sidebar, the page, and what opens over every page. `#content` scrolls; a page that scrolls inside, such as a thread, has its
 * height.
 */
import { Outlet, useNavigate } from "@tanstack/react-router"
import { lazy, Suspense, useCallback, useEffect, useState } from "react"
import { useChangeFeed } from "../api/ChangeFeed.ts"
import { useShortcuts } from "../keys/useShortcuts.ts"
import { useTextInProgress } from "../keys/useTextInProgress.ts"
import { useNotifications } from "../notification/useNotifications.ts"
import { useMessages } from "../text/Language.tsx"
import { OpenPalette } from "../palette/OpenPalette.ts"
import { useMedia, withoutSidebar } from "../ui/useMedia.ts"
import { ConnectionBanner } from "./ConnectionBanner.tsx"
import { PendingAnnouncement } from "./PendingAnnouncement.tsx"
import { PhoneBar } from "./PhoneBar.tsx"
import { Sidebar } from "./Sidebar.tsx"
import { appMessages } from "./messages.ts"
import { useKeptFocus } from "./useKeptFocus.ts"

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
  const connection = useChangeFeed(useNotifications())
  const narrow = useMedia(withoutSidebar)
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
