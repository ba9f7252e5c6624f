/** Menu of a session: rename, agents, fork, export, copy of its id, archive. */
import { Menu } from "@base-ui/react/menu"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import type { Message } from "@corral/domain/session/Message"
import type { Session, UpdateSession } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "../thread/messages.ts"
import type { ThreadData } from "../thread/useThread.ts"
import { AgentsDialog } from "./AgentsDialog.tsx"
import { RenameSession } from "./RenameSession.tsx"
import "../thread/thread.css"

interface Props {
  readonly session: Session
  /** A fork has the conversation up to its newest message. */
  readonly thread: ThreadData
  /** Whether the user's role allows changes. */
  readonly mayWork: boolean
  readonly onUpdate: (change: UpdateSession) => Promise<unknown>
}

/** A download by a link, which the browser names after the answer's header. */
const download = (id: string, format: "markdown" | "json"): void => {
  const link = document.createElement("a")
  link.href = `${pathOf(hubPaths.conversations.export[1], { params: { id } })}?format=${format}`
  link.download = ""
  link.click()
}

export const ThreadMenu = ({ mayWork, onUpdate, session, thread }: Props) => {
  const { newest } = thread
  const messages = useMessages(threadMessages)
  const navigate = useNavigate()
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const [dialog, setDialog] = useState<"rename" | "agents">()
  const { id, projectId, state } = session
  const fork = useMutation({
    mutationFn: (messageId: Message["id"]) =>
      hubApi.conversations.fork({ params: { id }, headers: keyOf({ messageId }), payload: { messageId } }),
    onSuccess: async (created) => {
      await client.invalidateQueries({ queryKey: ["sessions"] })
      await navigate({ to: "/sessions/$sessionId", params: { sessionId: created.id } })
    }
  })
  // The page shows a failure of an update.
  const archive = () =>
    void onUpdate({ state: state === "active" ? "archived" : "active" }).catch(() => undefined)
  const close = () => setDialog(undefined)
  return (
    <>
      <Menu.Root>
        <Menu.Trigger className="icon-button" aria-label={messages.more}>
          <Icon name="more" size={18} />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" sideOffset={6} align="end">
            <Menu.Popup className="menu">
              {mayWork && (
                <Menu.Item className="menu-item" onClick={() => setDialog("rename")}>
                  {messages.rename}
                </Menu.Item>
              )}
              <Menu.Item className="menu-item" onClick={() => setDialog("agents")}>
                {messages.agents}
              </Menu.Item>
              {mayWork && newest !== undefined && (
                <Menu.Item className="menu-item" onClick={() => fork.mutate(newest.id)}>
                  {messages.fork}
                </Menu.Item>
              )}
              <Menu.Item
                className="menu-item"
                onClick={() => void navigate({ to: "/projects/$projectId", params: { projectId } })}
              >
                {messages.project}
              </Menu.Item>
              <Menu.Separator className="menu-line" />
              <Menu.Item className="menu-item" onClick={() => download(id, "markdown")}>
                {messages.exportMarkdown}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => download(id, "json")}>
                {messages.exportJson}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => void navigator.clipboard.writeText(id)}>
                {messages.copyId}
              </Menu.Item>
              {mayWork && state !== "closed" && (
                <>
                  <Menu.Separator className="menu-line" />
                  <Menu.Item className="menu-item" onClick={archive}>
                    {state === "active" ? messages.archive : messages.reopen}
                  </Menu.Item>
                </>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <RenameSession session={dialog === "rename" ? session : undefined} onClose={close} />
      {dialog === "agents" && (
        <AgentsDialog {...{ session, thread }} mayWrite={mayWork && state === "active"} onClose={close} />
      )}
    </>
  )
}
