/** Row of a device: what it offers, who can use it, its state, and actions for its owner. */
import type { Device, Target, UpdateDevice } from "@corral/domain/device/Device"
import { useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useProjects } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
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

/** Names in a row. Others are counted. */
const MAX_NAMES = 3

/** Agents that can start, and workspaces; nothing for a device that no run can be sent to. */
const useOffer = (target: Target | undefined): ReadonlyArray<string> => {
  const messages = useMessages(deviceMessages)
  const { comma } = usePunctuation()
  if (target === undefined) return []
  const ready = target.agents.filter(({ available, signedIn }) => available && signedIn !== false)
  const names = ready.slice(0, MAX_NAMES).map(({ label }) => visibleLine(label, 60))
  const { length } = target.workspaces
  return [
    ready.length === 0 ? messages.noneReady : messages.ready(names.join(comma), ready.length - names.length),
    length === 0 ? messages.noWorkspaces : messages.workspaces(length)
  ]
}

/** Projects whose members can use the device. Those that the user is not in are counted. */
const useSharing = ({ sharedWith }: Device): string => {
  const messages = useMessages(deviceMessages)
  const { comma } = usePunctuation()
  const projects = useProjects()
  if (sharedWith.length === 0) return messages.notShared
  const names = projects
    .filter(({ id }) => sharedWith.includes(id))
    .slice(0, MAX_NAMES)
    .map(({ name }) => visibleLine(name, 60))
  return messages.shared(names.join(comma), sharedWith.length - names.length)
}

interface Props {
  readonly device: Device
  /** What the device last reported. */
  readonly target: Target | undefined
}

export const DeviceRow = ({ device, target }: Props) => {
  const messages = useMessages(deviceMessages)
  const { user } = useCurrentUser()
  const offer = useOffer(device.state === "revoked" ? undefined : target)
  const sharing = useSharing(device)
  const { id, lastSeenAt, name, ownerId, state, version } = device
  const isOwn = ownerId === user.id
  return (
    <li className="row">
      <RowMain name={name}>
        {offer.length > 0 && (
          <>
            <bdi className="device-offer">{offer.join(" · ")}</bdi>
            <br />
          </>
        )}
        <bdi>
          {[isOwn ? messages.yours : undefined, state === "revoked" ? undefined : sharing, version]
            .filter((part) => part !== undefined)
            .join(" · ")}
        </bdi>
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
