"""The schema of policies: what a policy can ask about the caller, the memory and the call."""

from __future__ import annotations

USER, ROLE, CUBE, STORE = "User", "Role", "Cube", "Store"

SCHEMA = """
// A name that callers have, such as doctor.
entity Role;

// Who calls, and whose memory it is.
entity User in [Role];

// One memory.
entity Cube {
  owner: User,              // whose memory it is
  tenant: String,           // the organisation of the owner
  agent: String,            // the agent that has it; empty: all agents of the owner
  namespace: String,        // the purpose, such as private or context/team
  kind: String,             // page, segment, fact, trait, profile, activation or parameter
  tags: Set<String>,        // labels
  sensitivity: Set<String>, // what makes it sensitive, such as diagnosis
  access: String,           // private, shared or read_only
};

// The whole store: its users, mounts, jobs and keys.
entity Store;

type Context = {
  purpose?: String,         // why, as the caller says
  session?: String,         // session of the caller
  application?: String,     // program of the caller
  network?: String,         // address or zone of the caller
  address?: ipaddr,         // the same, if it is an IP address
  time: datetime,           // when, in whole minutes
};

action read, write, share, delete appliesTo { principal: User, resource: Cube, context: Context };
action administer appliesTo { principal: User, resource: [Cube, Store], context: Context };
"""
