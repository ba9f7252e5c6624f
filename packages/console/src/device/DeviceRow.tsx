/** Row of a device: state, and actions for its owner. */
import type { Device, UpdateDevice } from "@corral/domain/device/Device"
import { useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { RowMenu, RowMenuItem } from "../ui/RowMenu.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { useAction } from "../ui/useAction.ts"
import { ShareDevice } from "./ShareDevice.tsx"
import { deviceMessages } from "./messages.ts"

const OwnerMenu = ({ device: { id, name, sharedWith, state } }: { readonly device: Device }) => {
  const messages = useMessages(deviceMessages)
  const client = useQueryClient()
  const [share, rename, revoke, removal] = [useAction(), useAction(), useAction(), useAction()]
  const changed = () => client.invalidateQueries({ queryKey: ["devices"] })
  const update = async (payload: UpdateDevice): Promise<void> => {
    await hubApi.devices.update({ params: { id }, payload })
    await changed()
  }
  const remove = async (): Promise<void> => {
    await hubApi.devices.remove({ params: { id } })
    await changed()
  }
  return (
    <>
      <RowMenu of={name} id={id}>
        {state === "revoked" ? (
          <RowMenuItem icon="remove" onSelect={() => removal.setOpen(true)}>
            {messages.remove}
          </RowMenuItem>
        ) : (
          <>
            <RowMenuItem icon="projects" onSelect={() => share.setOpen(true)}>
              {messages.share}
            </RowMenuItem>
            <RowMenuItem icon="edit" onSelect={() => rename.setOpen(true)}>
              {messages.rename}
            </RowMenuItem>
            <RowMenuItem icon="close" onSelect={() => revoke.setOpen(true)}>
              {messages.revoke}
            </RowMenuItem>
          </>
        )}
      </RowMenu>
      <ShareDevice
        action={share}
        {...{ name, sharedWith }}
        onShare={(chosen) => update({ sharedWith: chosen })}
      />
      <FormDialog
        action={rename}
        title={messages.rename}
        submit={messages.save}
        onSubmit={(form) => update({ name: textIn(form, "name") })}
      >
        <Field label={messages.name}>
          <input name="name" required maxLength={100} defaultValue={name} autoComplete="off" />
        </Field>
      </FormDialog>
      <ConfirmDialog
        action={revoke}
        title={messages.revokeTitle(name)}
        confirm={messages.revoke}
        onConfirm={() => update({ state: "revoked" })}
      >
        {messages.revokeText}
      </ConfirmDialog>
      <ConfirmDialog
        action={removal}
        title={messages.removeTitle(name)}
        confirm={messages.remove}
        onConfirm={remove}
      >
        {messages.removeText}
      </ConfirmDialog>
    </>
  )
}

export const DeviceRow = ({ device }: { readonly device: Device }) => {
  const messages = useMessages(deviceMessages)
  const { user } = useCurrentUser()
  const { id, lastSeenAt, name, ownerId, sharedWith, state, version } = device
  const isOwn = ownerId === user.id
  return (
    <li className="row">
      <RowMain name={name}>
        {[
          isOwn ? messages.yours : undefined,
          version,
          sharedWith.length > 0 ? messages.shared(sharedWith.length) : undefined
        ]
          .filter((part) => part !== undefined)
          .join(" · ")}
      </RowMain>
      <div className="row-side">
        <StateBadge state={state} />
        {state !== "online" && (
          <span className="quiet">
            {lastSeenAt === undefined ? (
              messages.never
            ) : (
              <>
                {messages.seen} <Time at={lastSeenAt} />
              </>
            )}
          </span>
        )}
        {isOwn ? <OwnerMenu device={device} /> : <RowMenu of={name} id={id} />}
      </div>
    </li>
  )
}
