/** The chat accounts that act as oneself. */
import type { ChatBinding } from "@corral/domain/chat/ChatAccount"
import { useQueryClient } from "@tanstack/react-query"
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { accountWords } from "./messages.ts"

export const ChatAccounts = () => {
  const words = useWords(accountWords)
  const client = useQueryClient()
  const list = useList(["chatBindings"], ({ page, signal }) => hub.chatBindings.list({ query: page, signal }))
  const unlink = async ({ id }: ChatBinding): Promise<void> => {
    await hub.chatBindings.remove({ params: { id } })
    await client.invalidateQueries({ queryKey: ["chatBindings"] })
  }
  return (
    <>
      <p className="quiet">{words.chatsHint}</p>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={words.chats}>
          {list.items.map((binding) => (
            <li key={binding.id} className="row">
              <div className="row-main">
                <strong>
                  <bdi>{binding.name ?? binding.account}</bdi>
                </strong>
                <br />
                <span className="quiet">
                  {binding.platform} · {binding.tenant} · {words.linked} <Time at={binding.createdAt} />
                </span>
              </div>
              <ConfirmDialog
                trigger={words.unlink}
                title={words.unlinkTitle(binding.name ?? binding.account)}
                confirm={words.unlink}
                onConfirm={() => unlink(binding)}
              >
                {words.unlinkText}
              </ConfirmDialog>
            </li>
          ))}
        </ul>
      )}
      <ListMore list={list} empty={words.noChats} />
    </>
  )
}
