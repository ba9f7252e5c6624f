/** Chat accounts linked to the user. */
import type { ChatBinding } from "@corral/domain/chat/ChatAccount"
import { useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { Time } from "../ui/Time.tsx"
import { accountMessages } from "./messages.ts"

export const ChatAccountList = () => {
  const messages = useMessages(accountMessages)
  const client = useQueryClient()
  const list = useList(["chatBindings"], ({ page, signal }) =>
    hubApi.chatBindings.list({ query: page, signal })
  )
  const unlink = async ({ id }: ChatBinding): Promise<void> => {
    await hubApi.chatBindings.remove({ params: { id } })
    await client.invalidateQueries({ queryKey: ["chatBindings"] })
  }
  return (
    <>
      <p className="quiet">{messages.chatsHint}</p>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.chats}>
          {list.items.map((binding) => (
            <li key={binding.id} className="row">
              <RowMain name={binding.name ?? binding.account}>
                {binding.platform} · {binding.tenant} · {messages.linked} <Time at={binding.createdAt} />
              </RowMain>
              <ConfirmDialog
                trigger={messages.unlink}
                title={messages.unlinkTitle(binding.name ?? binding.account)}
                confirm={messages.unlink}
                onConfirm={() => unlink(binding)}
              >
                {messages.unlinkText}
              </ConfirmDialog>
            </li>
          ))}
        </ul>
      )}
      <ListMore list={list} empty={messages.noChats} rows={1} />
    </>
  )
}
