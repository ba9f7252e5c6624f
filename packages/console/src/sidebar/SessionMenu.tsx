/** Menu of a session in the sidebar: pin, rename, archive. One for all rows. */
import { Menu } from "@base-ui/react/menu"
import type { SessionItem } from "@corral/domain/session/Session"
import { useState } from "react"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { useUpdateSession } from "../api/Sessions.ts"
import { RenameSession } from "../session/RenameSession.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { sidebarMessages } from "./messages.ts"
import { usePins } from "./usePins.ts"
import "./sidebar.css"

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
