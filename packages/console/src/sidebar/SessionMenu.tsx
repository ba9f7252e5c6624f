/** Menu of a session in the sidebar: pin, rename, archive. One for all rows. */
import { Menu } from "@base-ui/react/menu"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import { useMemo, useState } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { useUpdateSession } from "../api/Sessions.ts"
import { RenameSession } from "../session/RenameSession.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useStoredText } from "../ui/StoredText.ts"
import { sidebarMessages } from "./messages.ts"
import "./sidebar.css"

/** Older pins are dropped. */
const MAX_PINS = 30

/** Reads stored ids. A damaged text has none. */
export const pinsOf = (text: string | null): ReadonlyArray<SessionId> => {
  try {
    const ids: unknown = JSON.parse(text ?? "[]")
    return Array.isArray(ids) ? ids.filter((id): id is SessionId => typeof id === "string") : []
  } catch {
    return []
  }
}

interface Pins {
  readonly ids: ReadonlySet<SessionId>
  readonly toggle: (id: SessionId) => void
}

/** Pinned sessions of the user, stored in this browser. The last pinned one is first. */
export const usePins = (): Pins => {
  const { user } = useCurrentUser()
  const [text, store] = useStoredText(`corral.pins.${user.id}`, accountStorage)
  return useMemo(() => {
    const ids = pinsOf(text)
    return {
      ids: new Set(ids),
      toggle: (id) =>
        store(
          JSON.stringify(
            ids.includes(id) ? ids.filter((each) => each !== id) : [id, ...ids].slice(0, MAX_PINS)
          )
        )
    }
  }, [store, text])
}

export interface SessionMenuTarget {
  readonly session: SessionItem
  /** Button that opened the menu. */
  readonly button: HTMLElement
}

interface Props {
  readonly target: SessionMenuTarget | undefined
  readonly onClose: () => void
}

export const SessionMenu = ({ onClose, target }: Props) => {
  const messages = useMessages(sidebarMessages)
  const pins = usePins()
  const update = useUpdateSession()
  const [renamed, setRenamed] = useState<SessionMenuTarget>()
  const [failure, setFailure] = useState<Error | null>(null)
  const session = target?.session
  const mayWork = useCanWork(session?.projectId)
  const setState = (state: "active" | "archived") => {
    if (session === undefined) return
    setFailure(null)
    void update(session.id, { state }).catch(setFailure)
  }
  return (
    <>
      <Menu.Root
        open={target !== undefined}
        onOpenChange={(open) => {
          if (!open) onClose()
        }}
      >
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" anchor={target?.button} align="end" sideOffset={4}>
            <Menu.Popup
              className="menu session-menu"
              aria-label={session === undefined ? undefined : messages.actions(session.title)}
              finalFocus={() => target?.button ?? true}
            >
              {session !== undefined && (
                <>
                  <Menu.Item className="menu-item" onClick={() => pins.toggle(session.id)}>
                    <Icon name="pin" />
                    {pins.ids.has(session.id) ? messages.unpin : messages.pin}
                  </Menu.Item>
                  {mayWork && session.state === "active" && (
                    <Menu.Item className="menu-item" onClick={() => setRenamed(target)}>
                      <Icon name="edit" />
                      {messages.rename}
                    </Menu.Item>
                  )}
                  {mayWork && session.state !== "closed" && (
                    <Menu.Item
                      className="menu-item"
                      onClick={() => setState(session.state === "active" ? "archived" : "active")}
                    >
                      <Icon name="archive" />
                      {session.state === "active" ? messages.archive : messages.reopen}
                    </Menu.Item>
                  )}
                </>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      {failure !== null && (
        <p className="session-failure" role="alert">
          {failure.message}
        </p>
      )}
      <RenameSession
        session={renamed?.session}
        opener={renamed?.button}
        onClose={() => setRenamed(undefined)}
      />
    </>
  )
}
