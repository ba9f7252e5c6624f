/**
 * Page of the user's devices and devices shared with them: what each offers, who can use it, its state, and actions for its owner. A dialog adds
 * a device: the command for that machine, and a join token for its stdin.
 *
 * *Guarantees:* the token appears in no process list and is kept only while the dialog is open.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { Device, Target, UpdateDevice } from "@corral/domain/device/Device"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { projectsQuery, targetsQuery, useProjects } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog, useAction, type UserAction } from "../ui/Dialogs.tsx"
import { CopyLine } from "../ui/Copy.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RowMain, RowMenu, RowMenuItem } from "../ui/Row.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { deviceMessages } from "./messages.ts"

const joinCommand = (): string => `corral device join --hub ${globalThis.location.origin} --token-file -`

/** Polling interval. A device that has joined but not started sends no change notice. */
const POLL_INTERVAL_MS = 3_000

const Steps = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const messages = useMessages(deviceMessages)
  const [knownIds] = useState(() => new Set(devices.map(({ id }) => id)))
  const createToken = useMutation({ mutationFn: () => hubApi.devices.createJoinToken({ payload: {} }) })
  const client = useQueryClient()
  useEffect(() => {
    const poll = () => void client.invalidateQueries({ queryKey: ["devices", "list"] })
    const timer = setInterval(poll, POLL_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [client])
  const joined = devices.find(({ id }) => !knownIds.has(id))
  return (
    <>
      <p>{messages.addText}</p>
      <CopyLine text={joinCommand()} what={messages.command} />
      {createToken.data === undefined ? (
        <button
          type="button"
          className="button primary"
          disabled={createToken.isPending}
          onClick={() => createToken.mutate()}
        >
          {messages.makeToken}
        </button>
      ) : (
        <>
          <p>{messages.tokenText}</p>
          <CopyLine text={createToken.data.token} what={messages.token} />
          <p className="quiet">
            {messages.untilText} <Time at={createToken.data.expiresAt} />
          </p>
          <p>{messages.upText}</p>
          <CopyLine text="corral up" what={messages.command} />
        </>
      )}
      <RefusalNote error={createToken.error} />
      <p role="status">
        {joined === undefined ? messages.waits : <strong>{messages.joined(joined.name)}</strong>}
      </p>
    </>
  )
}

/**
 * Dialog that adds a device: the command for that machine, and a join token for its stdin.
 *
 * *Guarantees:* the token appears in no process list and is kept only while the dialog is open.
 */
const AddDevice = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const messages = useMessages(deviceMessages)
  return (
    <Dialog.Root>
      <Dialog.Trigger className="button primary">{messages.add}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{messages.add}</Dialog.Title>
          <Steps devices={devices} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface ShareDeviceProps {
  /** State of the dialog, which a menu opens. */
  readonly action: UserAction
  readonly name: string
  readonly sharedWith: ReadonlyArray<ProjectId>
  readonly onShare: (projects: ReadonlyArray<ProjectId>) => Promise<void>
}

/** Dialog that selects the projects whose members can use a device. */
const ShareDevice = ({ action, name, onShare, sharedWith }: ShareDeviceProps) => {
  const messages = useMessages(deviceMessages)
  const projects = useProjects()
  const share = (form: FormData): Promise<void> => {
    const unseen = sharedWith.filter((id) => !projects.some((project) => project.id === id))
    return onShare([...unseen, ...projects.flatMap(({ id }) => (form.has(id) ? [id] : []))])
  }
  return (
    <FormDialog action={action} title={messages.shareTitle(name)} submit={messages.save} onSubmit={share}>
      <p className="quiet">{projects.length === 0 ? messages.noProjects : messages.shareHint}</p>
      <fieldset>
        <legend className="hidden">{messages.shareTitle(name)}</legend>
        {projects.map((project) => (
          <label key={project.id} className="choice">
            <input type="checkbox" name={project.id} defaultChecked={sharedWith.includes(project.id)} />
            <bdi>{project.name}</bdi>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  )
}

const OwnerMenu = ({ device: { id, name, sharedWith, state } }: { readonly device: Device }) => {
  const messages = useMessages(deviceMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
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
            <RowMenuItem
              icon="agent"
              onSelect={() => void navigate({ to: "/devices/$deviceId/presets", params: { deviceId: id } })}
            >
              {messages.presets}
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

interface DeviceRowProps {
  readonly device: Device
  /** What the device last reported. */
  readonly target: Target | undefined
}

/** Row of a device: what it offers, who can use it, its state, and actions for its owner. */
const DeviceRow = ({ device, target }: DeviceRowProps) => {
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

export const DevicesPage = () => {
  const messages = useMessages(deviceMessages)
  const list = useList(["devices", "list"], ({ page, signal }) =>
    hubApi.devices.list({ query: page, signal })
  )
  const targets = useQuery(targetsQuery())
  const projects = useQuery(projectsQuery)
  // A row has its full height from the start.
  const isLoading = list.isLoading || targets.isLoading || projects.isLoading
  return (
    <PageFrame title={messages.title} actions={<AddDevice devices={list.items} />}>
      <p className="page-hint">{messages.noneHint}</p>
      {list.items.length > 0 && !isLoading && (
        <ul className="rows" aria-label={messages.title}>
          {list.items.map((device) => (
            <DeviceRow
              key={device.id}
              device={device}
              target={targets.data?.items.find(({ id }) => id === device.id)}
            />
          ))}
        </ul>
      )}
      <ListMore
        list={{ ...list, isLoading }}
        empty={
          <>
            <p>{messages.none}</p>
            <p>{messages.noneNext}</p>
          </>
        }
      />
    </PageFrame>
  )
}
