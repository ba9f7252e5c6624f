/** Devices that a person may route to: their own, and those shared with a project where their role lets them make tasks. */
import { roleRefusal } from "@corral/domain/Authorization"
import type { UserId } from "@corral/domain/Ids"
import { ProjectRole } from "@corral/domain/Project"
import type { SqlClient } from "effect/sql"

const roles = ProjectRole.literals.filter((role) => roleRefusal("task.create", role) === undefined)

/** A query of their ids; whether a device was revoked is not its question. */
export const routableBy = (sql: SqlClient.SqlClient, userId: UserId) => sql`
  SELECT id FROM devices WHERE owner_id = ${userId}
  UNION
  SELECT s.device_id FROM project_members m JOIN device_projects s ON s.project_id = m.project_id
  WHERE m.user_id = ${userId} AND ${sql.in("m.role", roles)}`
